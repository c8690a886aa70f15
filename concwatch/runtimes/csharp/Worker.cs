using System;
using System.Collections.Concurrent;
using System.Threading;

namespace Concwatch
{
    /// <summary>Holds a target. Its own thread creates and cancels tasks; the thread pool runs them.</summary>
    sealed class Worker
    {
        const double Slice = 0.010; // seconds: the longest that growing or shrinking may delay commands

        readonly Wire wire;
        readonly Counts counts = new Counts();
        readonly ConcurrentQueue<Command> commands = new ConcurrentQueue<Command>();
        readonly AutoResetEvent wake = new AutoResetEvent(false);
        readonly bool bare;
        readonly Crew crew;
        Body body;
        Burst burst;
        bool failureTold;

        public Worker(Wire wire, bool bare)
        {
            this.wire = wire;
            this.bare = bare;
            body = Workload.Sleeping(Timeout.InfiniteTimeSpan, bare);
            crew = new Crew(counts, () => wake.Set(), Fail);
            Goal = new Goal(counts);
            Ticker = new Ticker(wire, counts);
        }

        public Goal Goal { get; }
        public Ticker Ticker { get; }

        /// <summary>May be called from any thread.</summary>
        public void Submit(Command command)
        {
            commands.Enqueue(command);
            wake.Set();
        }

        public void Run()
        {
            while (true)
            {
                while (commands.TryDequeue(out Command command))
                {
                    Obedience.Obey(this, wire, command);
                }
                if (!Adjust())
                {
                    wake.WaitOne(crew.Varied ? 50 : Timeout.Infinite); // milliseconds
                }
            }
        }

        /// <summary>Creates or cancels tasks for one slice of time; returns whether more is to be done.</summary>
        bool Adjust()
        {
            crew.Look();
            if (burst != null)
            {
                return FinishBurst();
            }
            TellReached();
            double end = Clock.Now + Slice;
            try
            {
                for (long wanted = Goal.Wanted(); wanted > 0 && Clock.Now < end; wanted--)
                {
                    crew.Start(body);
                    Goal.CountCreated();
                }
            }
            catch (OutOfMemoryException error)
            {
                StopGrowing("memory", null, error.Message);
            }
            // Tasks that are already being cancelled are not part of the excess.
            while (crew.Standing > Goal.Keep && Clock.Now < end)
            {
                crew.CancelOne();
            }
            TellReached();
            return Goal.Wanted() > 0 || crew.Standing > Goal.Keep;
        }

        void TellReached()
        {
            Report reached = Goal.Reached(Clock.Now);
            if (reached != null)
            {
                wire.Send(reached);
                Ticker.Soon();
            }
        }

        public void Ask(long target, double arrived) => Goal.Ask(target, arrived, crew.Standing);

        public void Use(Command workload)
        {
            body = Workload.Read(workload, bare);
            crew.Varied = workload.Value("to") != null;
            failureTold = false;
            Goal.Replace(crew.Standing);
        }

        /// <summary>Makes the live tasks the target, and reports what prevents more.</summary>
        public void StopGrowing(string wall, long? value, string detail)
        {
            long standing = crew.Standing, wanted = Goal.Target;
            Goal.Settle(standing);
            var limit = new Report("limit")
                .With("standing", standing)
                .With("wanted", wanted)
                .With("wall", wall)
                .With("detail", detail);
            wire.Send(value.HasValue ? limit.With("value", value.Value) : limit.WithNull("value"));
        }

        void Fail(Exception error)
        {
            if (error is OutOfMemoryException)
            {
                StopGrowing("memory", null, error.Message);
            }
            else if (!failureTold)
            {
                failureTold = true;
                wire.Refuse(null, $"a task failed: {error.GetType().Name}: {error.Message}", error.ToString());
            }
        }

        public void StartBurst(long tasks)
        {
            if (counts.Live > 0 || Goal.Target > 0)
            {
                throw new RefusedException(
                    $"{counts.Live} tasks are live: a burst expects none, and a target of 0");
            }
            burst = new Burst(tasks, crew, body);
        }

        bool FinishBurst()
        {
            if (counts.Live > 0)
            {
                return false;
            }
            wire.Send(burst.ToReport());
            Ticker.Soon();
            burst = null;
            return true;
        }
    }
}
