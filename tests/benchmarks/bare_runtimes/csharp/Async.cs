using System;
using System.Threading;
using System.Threading.Tasks;

/// <summary>A task is an async method that sleeps.</summary>
sealed class Async : Bare
{
    Async(string[] arguments) : base(arguments)
    {
    }

    static void Main(string[] arguments) => new Async(arguments).Hold();

    protected override async Task Live(int i, TimeSpan length, CancellationToken token)
    {
        try
        {
            await Task.Delay(length, token);
        }
        catch (OperationCanceledException)
        {
            return;
        }
        Replace(i);
    }
}
