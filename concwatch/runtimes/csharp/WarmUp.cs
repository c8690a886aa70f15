using System;
using System.Threading;

namespace Concwatch
{
    /// <summary>Makes the runtime load and compile what would otherwise count as memory of the first tasks.</summary>
    static class WarmUp
    {
        const int Tasks = 50; // of each kind
        const int Nursery = 4 << 20; // bytes that Mono reserves for new objects

        public static void Run(bool bare)
        {
            var counts = new Counts();
            var taskSet = new TaskSet(counts, () => { }, error => { });
            foreach (double milliseconds in new[] { 1, Timeout.Infinite })
            {
                Workload workload = Workload.Sleeping(TimeSpan.FromMilliseconds(milliseconds), bare);
                for (int i = 0; i < Tasks; i++)
                {
                    taskSet.Start(workload);
                }
            }
            while (counts.Completed < Tasks)
            {
                Thread.Sleep(1);
                taskSet.CountEnded();
            }
            while (taskSet.Active > 0)
            {
                taskSet.CancelOne();
            }
            Fill();
        }

        /// <summary>Touches the pages for new objects, so that they count as idle memory.</summary>
        static void Fill()
        {
            const int Piece = 4096;
            for (int i = 0; i < Nursery / Piece; i++)
            {
                GC.KeepAlive(new byte[Piece]);
            }
            GC.Collect();
        }
    }
}
