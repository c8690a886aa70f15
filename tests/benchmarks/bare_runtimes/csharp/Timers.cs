using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.Threading;
using System.Threading.Tasks;

/// <summary>Starts as many delays as the argument states, each of which can be cancelled.</summary>
static class Timers
{
    static void Main(string[] arguments)
    {
        int count = int.Parse(arguments[0]);
        long before = Memory.Resident();
        var clock = Stopwatch.StartNew();

        var tasks = new List<(Task Task, CancellationTokenSource Source)>();
        for (int i = 0; i < count; i++)
        {
            var source = new CancellationTokenSource();
            tasks.Add((Task.Delay(TimeSpan.FromHours(1), source.Token), source));
        }

        Memory.Print(clock, before);
        tasks[count - 1].Source.Cancel();
        Environment.Exit(0);
    }
}
