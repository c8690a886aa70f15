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
        readonly Action wake;
        readonly Action ended; // called when a task has ended; shared, so that it adds no memory to a task
        readonly Action<Exception> failed;

        // Only the one that is due first is checked. One that ends before it is counted a moment late.
        readonly DueQueue active = new DueQueue();
        readonly Queue<Member> cancelling = new Queue<Member>();
        bool scattered; // whether tasks may end before the one that is due first, so that all are checked
        int anyEnded; // 1 if so since all were checked

        /// <param name="wake">Called when a task has ended, on any thread.</param>
        public TaskSet(Counts counts, Action wake, Action<Exception> failed)
        {
            this.counts = counts;
            this.wake = wake;
            this.failed = failed;
            ended = End;
        }

        void End()
        {
            Volatile.Write(ref anyEnded, 1);
            wake();
        }

        /// <summary>Live tasks that are not being cancelled.</summary>
        public int Active => active.Count;

        public void Start(Workload workload)
        {
            TimeSpan length = workload.Length();
            var member = new Member();
            Task task = member.Task = workload.Start(length, member.Token);
            counts.CountCreated(); // only now: creating it may run out of memory
            if (task.IsCompleted)
            {
                Count(member, counts.CountCompleted);
                return;
            }
            member.Due = length < TimeSpan.Zero ? double.PositiveInfinity : Clock.Now + length.TotalSeconds;
            active.Add(member);
            scattered |= workload.EndsAnyTime;
            task.ConfigureAwait(false).GetAwaiter().UnsafeOnCompleted(ended);
        }

        /// <summary>Cancels one, unless it has just ended by itself.</summary>
        public void CancelOne()
        {
            Member member = active.RemoveLast();
            if (member.Task.IsCompleted)
            {
                Count(member, counts.CountCompleted);
                return;
            }
            member.Cancel();
            cancelling.Enqueue(member);
        }

        /// <summary>Counts the tasks that have ended.</summary>
        public void CountEnded()
        {
            if (scattered && Interlocked.Exchange(ref anyEnded, 0) == 1)
            {
                foreach (Member member in active.RemoveEnded())
                {
                    Count(member, counts.CountCompleted);
                }
                scattered = active.Count > 0;
            }
            while (active.Count > 0 && active.First.Task.IsCompleted)
            {
                Member member = active.First;
                active.RemoveFirst();
                Count(member, counts.CountCompleted);
            }
            while (cancelling.Count > 0 && cancelling.Peek().Task.IsCompleted)
            {
                Count(cancelling.Dequeue(), counts.CountCancelled);
            }
        }

        void Count(Member member, Action count)
        {
            member.Dispose();
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
    }
}
