using System;
using System.Collections.Generic;
using System.Threading;
using System.Threading.Tasks;

namespace Concwatch
{
    /// <summary>The tasks that live. Only the worker's own thread comes here; it also does all the counting.</summary>
    sealed class Crew
    {
        readonly Counts counts;
        readonly Action ended; // one for all, called when one has ended: so that this adds nothing to a task
        readonly Action<Exception> failed;

        const double Pause = 0.05, Share = 0.05; // seconds between two looks at all, and of the time

        // Where all last equally long they end in the order in which they began, or nearly: only the first is
        // looked at. One that ends before the first is counted a moment late.
        readonly Queue<Member> standing = new Queue<Member>();
        readonly Queue<Member> leaving = new Queue<Member>(); // were told to end, and have not yet

        public Crew(Counts counts, Action ended, Action<Exception> failed)
        {
            this.counts = counts;
            this.ended = ended;
            this.failed = failed;
        }

        /// <summary>Whether each task lasts another time: from time to time all are looked at.</summary>
        public bool Varied { get; set; }

        double looksAgain;

        /// <summary>Live tasks that were not told to end.</summary>
        public int Standing => standing.Count;

        public void Start(Body body)
        {
            var source = new CancellationTokenSource();
            Task task = body(source.Token);
            standing.Enqueue(new Member(task, source));
            counts.CountCreated(); // only now: there may be no memory for it
            if (task.IsCompleted)
            {
                ended();
            }
            else
            {
                task.ConfigureAwait(false).GetAwaiter().UnsafeOnCompleted(ended);
            }
        }

        /// <summary>Tells the oldest to end, unless it has just done so by itself.</summary>
        public void CancelOne()
        {
            Member member = standing.Dequeue();
            if (member.Task.IsCompleted)
            {
                Count(member, counts.CountCompleted);
                return;
            }
            member.Source.Cancel();
            leaving.Enqueue(member);
        }

        /// <summary>Counts those that have ended.</summary>
        public void Look()
        {
            CountEnded(standing, counts.CountCompleted);
            CountEnded(leaving, counts.CountCancelled);
            if (Varied && Clock.Now >= looksAgain)
            {
                double began = Clock.Now;
                LookAtAll();
                double now = Clock.Now;
                looksAgain = now + Math.Max(Pause, (now - began) / Share);
            }
        }

        void LookAtAll()
        {
            for (int left = standing.Count; left > 0; left--)
            {
                Member member = standing.Dequeue();
                if (member.Task.IsCompleted)
                {
                    Count(member, counts.CountCompleted);
                }
                else
                {
                    standing.Enqueue(member);
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
