using System;
using System.Collections.Generic;
using System.Threading;
using System.Threading.Tasks;

namespace Concwatch
{
    /// <summary>The live tasks. Only the worker's own thread uses this; it also does all the counting.</summary>
    sealed class TaskSet
    {
        readonly Counts counts;
        readonly Action ended; // called when a task has ended; shared, so that it adds no memory to a task
        readonly Action<Exception> failed;

        const double Pause = 0.05, Share = 0.05; // seconds between two scans of all tasks, and their share of the time

        // Tasks of equal duration end in the order in which they began, or nearly: so only the first is
        // checked. One that ends before the first is counted a moment late.
        readonly Queue<Member> active = new Queue<Member>();
        readonly Queue<Member> cancelling = new Queue<Member>(); // being cancelled

        public TaskSet(Counts counts, Action ended, Action<Exception> failed)
        {
            this.counts = counts;
            this.ended = ended;
            this.failed = failed;
        }

        /// <summary>Whether durations differ: then all tasks are checked from time to time.</summary>
        public bool Varied { get; set; }

        double nextScan;

        /// <summary>Live tasks that are not being cancelled.</summary>
        public int Active => active.Count;

        public void Start(Body body)
        {
            var source = new CancellationTokenSource();
            Task task = body(source.Token);
            active.Enqueue(new Member(task, source));
            counts.CountCreated(); // only now: creating it may run out of memory
            if (task.IsCompleted)
            {
                ended();
            }
            else
            {
                task.ConfigureAwait(false).GetAwaiter().UnsafeOnCompleted(ended);
            }
        }

        /// <summary>Cancels the oldest, unless it has just ended by itself.</summary>
        public void CancelOne()
        {
            Member member = active.Dequeue();
            if (member.Task.IsCompleted)
            {
                Count(member, counts.CountCompleted);
                return;
            }
            member.Source.Cancel();
            cancelling.Enqueue(member);
        }

        /// <summary>Counts the tasks that have ended.</summary>
        public void CountEnded()
        {
            CountEnded(active, counts.CountCompleted);
            CountEnded(cancelling, counts.CountCancelled);
            if (Varied && Clock.Now >= nextScan)
            {
                double began = Clock.Now;
                ScanAll();
                double now = Clock.Now;
                nextScan = now + Math.Max(Pause, (now - began) / Share);
            }
        }

        void ScanAll()
        {
            for (int left = active.Count; left > 0; left--)
            {
                Member member = active.Dequeue();
                if (member.Task.IsCompleted)
                {
                    Count(member, counts.CountCompleted);
                }
                else
                {
                    active.Enqueue(member);
                }
            }
        }

        void CountEnded(Queue<Member> members, Action count)
        {
            while (members.Count > 0 && members.Peek().Task.IsCompleted)
            {
                Count(members.Dequeue(), count);
            }
        }

        void Count(Member member, Action count)
        {
            member.Source.Dispose();
            if (member.Task.IsFaulted)
            {
                counts.CountFailed();
                failed(member.Task.Exception.InnerException);
            }
            else
            {
                count();
            }
        }

        struct Member
        {
            public readonly Task Task;
            public readonly CancellationTokenSource Source;

            public Member(Task task, CancellationTokenSource source)
            {
                Task = task;
                Source = source;
            }
        }
    }
}
