using System;
using System.Threading;

namespace Concwatch
{
    /// <summary>The counters of a worker. Only its own thread changes them, any thread may read them.</summary>
    sealed class Counts
    {
        long created, completed, failed, cancelled;

        // Ends are read before starts, so that a concurrent change never makes the difference negative.
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

    /// <summary>The target, and how many tasks are still missing. Only the worker's own thread uses it.</summary>
    sealed class Goal
    {
        readonly Counts counts;
        long left; // without refill: tasks of the target still to be created
        long due; // the value of Created at which the target is met
        long created, cancelled; // the counters when the target arrived
        double? requested; // when it arrived; null once reported
        bool refill = true;
        bool replacing; // live tasks are cancelled first: the workload has changed

        public Goal(Counts counts) => this.counts = counts;

        public long Target { get; private set; }

        /// <summary>How many live tasks may remain.</summary>
        public long Keep => replacing ? 0 : Target;

        /// <param name="standing">Live tasks that are not being cancelled.</param>
        public void SetTarget(long target, double arrived, long standing)
        {
            Target = target;
            left = Math.Max(0, target - (replacing ? 0 : standing));
            created = counts.Created;
            cancelled = counts.Cancelled;
            due = created + left;
            requested = arrived;
        }

        public void SetRefill(bool on)
        {
            refill = on;
            left = 0;
        }

        public void Replace(long standing)
        {
            // Tasks that an earlier change is still cancelling are already among those left to create.
            long again = replacing ? 0 : Math.Min(standing, Target - left);
            replacing = counts.Live > 0;
            left += again;
            due += again;
        }

        /// <summary>Lowers the target to what is live, to stop growth.</summary>
        public void Settle(long standing)
        {
            Target = Math.Min(Target, standing);
            left = 0;
            requested = null;
        }

        public void CountCreated() => left = Math.Max(0, left - 1);

        /// <summary>How many tasks to create or, if negative, to cancel.</summary>
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

        /// <summary>Returns the report once, when the target has been met.</summary>
        public Report Reached(double now)
        {
            if (requested == null || counts.Created < due || counts.Live > Target)
            {
                return null;
            }
            double seconds = now - requested.Value;
            requested = null;
            return new Report("reached")
                .With("target", Target)
                .With("live", counts.Live)
                .With("created", counts.Created - created)
                .With("cancelled", counts.Cancelled - cancelled)
                .With("seconds", seconds);
        }
    }
}
