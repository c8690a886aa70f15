// As published: N asynchronous functions that wait ten seconds.
using System;
using System.Collections.Generic;
using System.Threading.Tasks;

static class Program
{
    static async Task Start(int numTasks)
    {
        List<Task> tasks = new List<Task>();
        for (int i = 0; i < numTasks; i++)
        {
            Task task = Task.Run(async () =>
            {
                await Task.Delay(TimeSpan.FromSeconds(10));
            });
            tasks.Add(task);
        }
        await Task.WhenAll(tasks);
    }

    static void Main(string[] args)
    {
        Start(int.Parse(args[0])).Wait();
    }
}
