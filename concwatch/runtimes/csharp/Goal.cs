using System;
using System.Threading;

namespace Concwatch
{
    /// <summary>What a worker has done so far. Only its own thread counts, any may read.</summary>
    sealed class Counts
    {
        long created, completed, failed, cancelled;

        // What ends is read before what begins, so that a tick in mid-change never shows fewer than none.
        public long Completed => Volatile.Read(ref completed);
        public long Failed => Volatile.Read(ref failed);
        public long Cancelled => Volatile.Read(ref cancelled);
        public long Created => Volatile.Read(ref created);

        public long Live
        {
            get
            {
                long ended = Completed + Failed + Cancelled;
                return Created - ended;
            }
        }

        public void CountCreated() => Volatile.Write(ref created, created + 1);
        public void CountCompleted() => Volatile.Write(ref completed, completed + 1);
        public void CountFailed() => Volatile.Write(ref failed, failed + 1);
        public void CountCancelled() => Volatile.Write(ref cancelled, cancelled + 1);
    }

    /// <summary>The target, and what is still wanted to meet it. Only the worker's own thread touches it.</summary>
    sealed class Goal
    {
        readonly Counts counts;
        long left; // without refill: how many of the burst are still to be created
        long due; // Created at which all that was asked for has been created
        long created, cancelled; // the counters when the target arrived
        double? asked; // when that was
        bool refill = true;
        bool replacing; // all that lives ends first: what a task does has changed

        public Goal(Counts counts) => this.counts = counts;

        public long Target { get; private set; }

        /// <summary>How many live tasks may stay.</summary>
        public long Keep => replacing ? 0 : Target;

        /// <param name="standing">Live tasks that were not told to end: the others are as good as gone.</param>
        public void Ask(long target, double arrived, long standing)
        {
            Target = target;
            left = Math.Max(0, target - (replacing ? 0 : standing));
            created = counts.Created;
            cancelled = counts.Cancelled;
            due = created + left;
            asked = arrived;
        }

        public void SetRefill(bool on)
        {
            refill = on;
            left = 0;
        }

        public void Replace(long standing)
        {
            // While an earlier change still ends them, they are among what is left to be created already.
            long again = replacing ? 0 : Math.Min(standing, Target - left);
            replacing = counts.Live > 0;
            left += again;
            due += again;
        }

        /// <summary>Makes what stands the target: growth is to stop.</summary>
        public void Settle(long standing)
        {
            Target = Math.Min(Target, standing);
            left = 0;
            asked = null;
        }

        public void CountCreated() => left = Math.Max(0, left - 1);

        /// <summary>How many tasks to create now or, below zero, to cancel.</summary>
        public long Wanted()
        {
            long live = counts.Live;
            replacing = replacing && live > 0;
            if (replacing)
            {
                return -live;
            }
            return live > Target || refill ? Target - live : Math.Min(left, Target - live);
        }

        /// <summary>Gives what to report once, when the target has been met.</summary>
        public Report Reached(double now)
        {
            if (asked == null || counts.Created < due || counts.Live > Target)
            {
                return null;
            }
            double seconds = now - asked.Value;
            asked = null;
            return new Report("reached")
                .With("target", Target)
                .With("live", counts.Live)
                .With("created", counts.Created - created)
                .With("cancelled", counts.Cancelled - cancelled)
                .With("seconds", seconds);
        }
    }
}
