using System;
using System.Threading;

namespace Concwatch
{
    /// <summary>Sends ticks from a thread of its own.</summary>
    sealed class Ticker
    {
        readonly Wire wire;
        readonly Counts counts;
        readonly Probe probe = new Probe();
        readonly AutoResetEvent early = new AutoResetEvent(false);
        double interval = 0.1;

        public Ticker(Wire wire, Counts counts)
        {
            this.wire = wire;
            this.counts = counts;
        }

        public void SetRate(double hz)
        {
            Volatile.Write(ref interval, 1 / hz);
            Soon();
        }

        public void Soon() => early.Set();

        public void Start() => new Thread(Run) { IsBackground = true, Name = "ticks" }.Start();

        void Run()
        {
            for (double due = Clock.Now; ;)
            {
                // Not a timer: Mono sorts all timers whenever one of them fires while others start,
                // which made a million tasks 25 times slower.
                double wait = due - Clock.Now;
                if (wait > 0 && early.WaitOne(TimeSpan.FromSeconds(wait)))
                {
                    due = Clock.Now;
                }
                double now = Clock.Now;
                Send(Math.Max(0, now - due));
                due = Math.Max(due + Volatile.Read(ref interval), now); // do not catch up
            }
        }

        void Send(double late)
        {
            long completed = counts.Completed, failed = counts.Failed, cancelled = counts.Cancelled;
            long ended = completed + failed + cancelled, created = counts.Created; // read in this order
            Report tick = new Report("tick")
                .With("time", Clock.Now)
                .With("created", created)
                .With("live", created - ended)
                .With("queued", 0)
                .With("completed", completed)
                .With("failed", failed)
                .With("cancelled", cancelled)
                .With("lag", Math.Max(late, probe.Lag()))
                .With("heap", GC.GetTotalMemory(false));
#if NET8_0_OR_GREATER
            tick.With("gc", GC.GetTotalPauseDuration().TotalSeconds);
#endif
            wire.Send(tick);
        }
    }
}
