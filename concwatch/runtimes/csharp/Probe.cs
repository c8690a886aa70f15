using System;
using System.Threading;

namespace Concwatch
{
    /// <summary>A job that waits for the thread pool as every task does that is to go on.</summary>
    sealed class Probe
    {
        double sent;
        double lag;
        int waiting;

        /// <summary>How late the last one was begun, or the one that still waits is; then sends the next.</summary>
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
