using System;
using System.Threading;

namespace Concwatch
{
    /// <summary>A job that waits for the thread pool like every task that continues.</summary>
    sealed class Probe
    {
        double sent;
        double lag;
        int waiting;

        /// <summary>Returns the delay of the last job, or of one that still waits, and queues the next one.</summary>
        public double Lag()
        {
            double now = Clock.Now;
            if (Volatile.Read(ref waiting) == 1)
            {
                return now - sent;
            }
            double last = Volatile.Read(ref lag);
            sent = now;
            Volatile.Write(ref waiting, 1);
            ThreadPool.QueueUserWorkItem(Begin);
            return last;
        }

        void Begin(object state)
        {
            Volatile.Write(ref lag, Clock.Now - sent);
            Volatile.Write(ref waiting, 0);
        }
    }
}
