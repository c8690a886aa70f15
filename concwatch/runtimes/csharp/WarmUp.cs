using System;
using System.Threading;

namespace Concwatch
{
    /// <summary>Has the runtime load and compile what the first tasks would otherwise be charged with.</summary>
    static class WarmUp
    {
        const int Tasks = 50; // of each kind
        const int Nursery = 4 << 20; // bytes that Mono has for new objects, whatever they are

        public static void Run(bool bare)
        {
            var counts = new Counts();
            var crew = new Crew(counts, () => { }, error => { });
            foreach (double milliseconds in new[] { 1, Timeout.Infinite })
            {
                Body body = Workload.Sleeping(TimeSpan.FromMilliseconds(milliseconds), bare);
                for (int i = 0; i < Tasks; i++)
                {
                    crew.Start(body);
                }
            }
            while (counts.Completed < Tasks)
            {
                Thread.Sleep(1);
                crew.Look();
            }
            while (crew.Standing > 0)
            {
                crew.CancelOne();
            }
            Fill();
        }

        /// <summary>Has the system give the pages in which all begin, once and for all.</summary>
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
