using System;
using System.Linq;
using System.Threading;
using System.Threading.Tasks;

namespace Concwatch
{
    /// <summary>Starts one task, which runs until it is done or the token is cancelled.</summary>
    /// <param name="length">How long it sleeps, if it sleeps.</param>
    delegate Task Body(TimeSpan length, CancellationToken token);

    /// <summary>What each task does.</summary>
    sealed class Workload
    {
        // No "1_000": Mono's compiler treats the underscore as a digit.
        const double Longest = 1e6; // seconds: the limit of Task.Delay is about twice as much
        const double ShortestMean = 0.001; // seconds
        const double MostASecond = 1e6;
        const long MostTicks = 1000 * 1000;
        const long Largest = int.MaxValue - 64; // bytes: what one array can be
        const int Page = 4096;
        const double Golden = 0.6180339887498949;
        const double Turn = 0.001; // seconds of spinning before others get their turn

        static readonly string[] All = { "sleep", "churn", "ticks", "hold", "payload", "spin", "nop", "connect" };
        public static readonly string[] Engines = { "csharp", "csharp-timers" };

        Workload(Func<TimeSpan> length, Body start, bool endsAnyTime = false)
        {
            Length = length;
            Start = start;
            EndsAnyTime = endsAnyTime;
        }

        /// <summary>Returns the workloads of an engine: a bare timer has no connection.</summary>
        public static string[] Words(bool bare) => All.Where(word => !bare || word != "connect").ToArray();

        /// <summary>Returns the shortest time that the next task can take.</summary>
        public Func<TimeSpan> Length { get; }
        public Body Start { get; }

        /// <summary>Whether a task may end, by failing, long before or after those that are as old.</summary>
        public bool EndsAnyTime { get; }

        /// <summary>Parses what each task does.</summary>
        /// <param name="bare">Whether a sleep is only a timer, without a method that awaits it.</param>
        /// <param name="target">Returns how many tasks are held now.</param>
        public static Workload Read(Command command, bool bare, Func<long> target)
        {
            string word = command.Word("word");
            switch (word)
            {
                case "sleep":
                    double least = Seconds(command, "seconds");
                    if (command.Value("to") == null)
                    {
                        return Sleeping(Rounded(least), bare);
                    }
                    double span = Seconds(command, "to") - least;
                    return Drawn(at => least + at * span, bare);
                case "churn":
                    double rate = command.NumberAbove("rate", 0, MostASecond, "tasks a second");
                    return Drawn(at => Exponential(at, Math.Max(1, target()) / rate), bare);
                case "hold":
                    return Sleeping(Timeout.InfiniteTimeSpan, bare);
                case "ticks":
                    long count = command.Whole("count", MostTicks);
                    TimeSpan pause = Rounded(Seconds(command, "seconds"));
                    return Other((length, token) => TickAsync(count, pause, token));
                case "payload":
                    long size = command.Whole("size", Largest);
                    return Other((length, token) => HoldAsync(size, token));
                case "spin":
                    double seconds = Seconds(command, "seconds");
                    return Other((length, token) => SpinAsync(seconds, token));
                case "nop":
                    return Other((length, token) => Task.CompletedTask);
                case "connect":
                    if (bare)
                    {
                        break;
                    }
                    bool once = command.Value("seconds") == null;
                    TimeSpan? interval = once ? (TimeSpan?)null : Rounded(Seconds(command, "seconds"));
                    return new Workload(() => TimeSpan.Zero, Connection.Read(command, interval), endsAnyTime: true);
            }
            string spec = Command.Short(command.Value("spec") as string ?? word);
            throw new RefusedException($"unknown workload \"{spec}\"; expected one of {string.Join(", ", Words(bare))}");
        }

        public static Workload Sleeping(TimeSpan length, bool bare) => Sleeping(() => length, bare);

        static Workload Sleeping(Func<TimeSpan> length, bool bare) =>
            new Workload(length, bare ? (Body)Task.Delay : SleepAsync);

        static Workload Other(Body start) => new Workload(() => TimeSpan.Zero, start);

        static double Seconds(Command command, string key) => command.Number(key, 0, Longest, "seconds");

        /// <summary>Task.Delay counts whole milliseconds, and would drop the rest.</summary>
        static TimeSpan Rounded(double seconds) => TimeSpan.FromMilliseconds(Math.Ceiling(seconds * 1000));

        /// <summary>Lets each task sleep the seconds drawn for a number of its own, evenly spread from 0 to 1.</summary>
        static Workload Drawn(Func<double, double> draw, bool bare)
        {
            double at = 0;
            return Sleeping(() => Rounded(draw(at = (at + Golden) % 1)), bare);
        }

        static double Exponential(double at, double mean) =>
            Math.Min(Longest, -Math.Max(ShortestMean, mean) * Math.Log(1 - at));

        static async Task SleepAsync(TimeSpan length, CancellationToken token)
        {
            try
            {
                await Task.Delay(length, token);
            }
            catch (OperationCanceledException)
            {
                // Cancelled. If the exception left this method, it would be thrown and stored once more.
            }
        }

        static async Task TickAsync(long count, TimeSpan length, CancellationToken token)
        {
            for (long i = 0; i < count; i++)
            {
                await Task.Delay(length, token);
            }
        }

        static async Task HoldAsync(long size, CancellationToken token)
        {
            var held = new byte[size];
            for (long i = 0; i < size; i += Page)
            {
                held[i] = 1;
            }
            await Task.Delay(Timeout.Infinite, token);
            GC.KeepAlive(held);
        }

        static async Task SpinAsync(double seconds, CancellationToken token)
        {
            for (double used = 0; used < seconds;)
            {
                await Task.Yield();
                token.ThrowIfCancellationRequested();
                double began = Clock.ThreadCpu, turn = Math.Min(Turn, seconds - used);
                while (Clock.ThreadCpu - began < turn)
                {
                }
                used += Clock.ThreadCpu - began;
            }
        }
    }
}
