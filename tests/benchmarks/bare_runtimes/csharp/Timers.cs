using System;
using System.Threading;
using System.Threading.Tasks;

/// <summary>A task is one Task.Delay.</summary>
sealed class Timers : Bare
{
    Timers(string[] arguments) : base(arguments)
    {
    }

    static void Main(string[] arguments) => new Timers(arguments).Hold();

    protected override Task Live(int i, TimeSpan length, CancellationToken token)
    {
        Task delay = Task.Delay(length, token);
        delay.GetAwaiter().OnCompleted(() =>
        {
            if (!delay.IsCanceled)
            {
                Replace(i);
            }
        });
        return delay;
    }
}
