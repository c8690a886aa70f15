using System;
using System.Diagnostics;
using System.Globalization;
using System.Runtime.InteropServices;
using System.Threading;
using System.Threading.Tasks;

/// <summary>Holds tasks that sleep, each of which can be cancelled; one that ends starts the next one in its place.</summary>
abstract class Bare
{
    readonly Task[] tasks;
    readonly CancellationTokenSource[] sources;
    readonly double least, to;
    long ended;

    /// <param name="arguments">How many tasks, and from how many seconds to how many they sleep.</param>
    protected Bare(string[] arguments)
    {
        tasks = new Task[int.Parse(arguments[0])];
        sources = new CancellationTokenSource[tasks.Length];
        least = double.Parse(arguments[1], CultureInfo.InvariantCulture);
        to = double.Parse(arguments[2], CultureInfo.InvariantCulture);
    }

    protected abstract Task Live(int i, TimeSpan length, CancellationToken token);

    protected void Hold()
    {
        Console.WriteLine("idle");
        Console.ReadLine();
        var clock = Stopwatch.StartNew();
        for (int i = 0; i < tasks.Length; i++)
        {
            Start(i);
        }
        Console.WriteLine("live " + clock.Elapsed.TotalSeconds.ToString(CultureInfo.InvariantCulture));
        while (Console.ReadLine() != null)
        {
            Console.WriteLine("ended " + Interlocked.Read(ref ended));
        }
        Leave(0);
    }

    /// <summary>Exits at once: Mono's own exit waits for timers.</summary>
    [DllImport("libc", EntryPoint = "_exit")]
    static extern void Leave(int status);

    protected void Replace(int i)
    {
        Interlocked.Increment(ref ended);
        Start(i);
    }

    void Start(int i)
    {
        sources[i] = new CancellationTokenSource();
        TimeSpan length = TimeSpan.FromSeconds(least + (to - least) * i / tasks.Length);
        tasks[i] = Live(i, length, sources[i].Token);
    }
}
