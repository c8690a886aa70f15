using System;
using System.Collections.Concurrent;
using System.Net.Sockets;
using System.Threading;

namespace Concwatch
{
    /// <summary>Holds a target. Its own thread creates and cancels tasks; the thread pool runs them.</summary>
    sealed class Worker
    {
        const double Slice = 0.010; // seconds: the longest that growing or shrinking may delay commands
        const int Soon = 50; // milliseconds between two checks whether tasks still fail at a limit

        readonly Wire wire;
        readonly Counts counts = new Counts();
        readonly ConcurrentQueue<Command> commands = new ConcurrentQueue<Command>();
        readonly AutoResetEvent wake = new AutoResetEvent(false);
        readonly bool bare;
        readonly TaskSet taskSet;
        readonly FileLimit fileLimit;
        Workload workload;
        Burst burst;
        long? bursting; // the tasks of the burst that runs
        bool failureReported;
        int woken;

        public Worker(Wire wire, bool bare)
        {
            this.wire = wire;
            this.bare = bare;
            workload = Workload.Sleeping(Timeout.InfiniteTimeSpan, bare);
            taskSet = new TaskSet(counts, Wake, Fail);
            Goal = new Goal(counts);
            fileLimit = new FileLimit(Goal);
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

        /// <summary>Called at the end of each task: only the first one until the worker wakes costs anything.</summary>
        void Wake()
        {
            if (Interlocked.Exchange(ref woken, 1) == 0)
            {
                wake.Set();
            }
        }

        public void Run()
        {
            while (true)
            {
                while (commands.TryDequeue(out Command command))
                {
                    CommandTable.Apply(this, wire, command);
                }
                if (!Adjust())
                {
                    wake.WaitOne(fileLimit.Pending ? Soon : Timeout.Infinite);
                    if (commands.IsEmpty)
                    {
                        Thread.Sleep(1); // more tasks end meanwhile: waking for each would cost more than counting it
                    }
                    Volatile.Write(ref woken, 0);
                }
            }
        }

        /// <summary>Creates or cancels tasks for one slice of time; returns whether more is to be done.</summary>
        bool Adjust()
        {
            taskSet.CountEnded();
            if (burst != null)
            {
                return FinishBurst();
            }
            ReportReached();
            Report over = fileLimit.Over();
            if (over != null)
            {
                wire.Send(over);
            }
            double end = Clock.Now + Slice;
            try
            {
                for (long wanted = Goal.Wanted(); wanted > 0 && Clock.Now < end;)
                {
                    taskSet.Start(workload);
                    Goal.CountCreated();
                    wanted = Math.Min(wanted - 1, Goal.Wanted()); // a task that fails may lower the target
                }
            }
            catch (OutOfMemoryException error)
            {
                StopGrowing("memory", null, error.Message);
            }
            // Tasks that are already being cancelled are not part of the excess.
            while (taskSet.Active > Goal.Keep && Clock.Now < end)
            {
                taskSet.CancelOne();
            }
            ReportReached();
            return Goal.Wanted() > 0 || taskSet.Active > Goal.Keep;
        }

        void ReportReached()
        {
            Report reached = Goal.Reached(Clock.Now);
            if (reached != null)
            {
                wire.Send(reached);
                Ticker.Soon();
            }
        }

        public void SetTarget(long target, double arrived) => Goal.SetTarget(target, arrived, taskSet.Active);

        public void Use(Command command)
        {
            workload = Workload.Read(command, bare, () => bursting ?? Goal.Target);
            failureReported = false;
            Goal.Replace(taskSet.Active);
        }

        /// <summary>Makes the live tasks the target, and reports what prevents more.</summary>
        public void StopGrowing(string wall, long? value, string detail)
        {
            long standing = taskSet.Active, wanted = Goal.Target;
            Goal.Settle(standing);
            wire.Send(LimitReport(standing, wanted, wall, value, detail));
        }

        public static Report LimitReport(long standing, long wanted, string wall, long? value, string detail)
        {
            var limit = new Report("limit")
                .With("standing", standing)
                .With("wanted", wanted)
                .With("wall", wall)
                .With("detail", detail);
            return value.HasValue ? limit.With("value", value.Value) : limit.WithNull("value");
        }

        void Fail(Exception error)
        {
            if (error is OutOfMemoryException)
            {
                StopGrowing("memory", null, error.Message);
            }
            else if (error is SocketException socket && socket.SocketErrorCode == SocketError.TooManyOpenSockets)
            {
                fileLimit.Record(error.Message, taskSet.Active);
            }
            else if (!failureReported)
            {
                failureReported = true;
                wire.Refuse(null, $"a task failed: {error.GetType().Name}: {error.Message}", error.ToString());
            }
        }

        public void StartBurst(long tasks)
        {
            if (counts.Live > 0 || Goal.Target > 0)
            {
                throw new RefusedException(
                    $"{counts.Live} tasks are live; a burst needs none, and a target of 0");
            }
            bursting = tasks;
            burst = new Burst(tasks, taskSet, workload);
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
            bursting = null;
            return true;
        }
    }
}
