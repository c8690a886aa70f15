using System;
using System.Diagnostics;
using System.Runtime.InteropServices;

namespace Concwatch
{
    /// <summary>Clocks, in seconds.</summary>
    static class Clock
    {
        static readonly bool IsMac = RuntimeInformation.IsOSPlatform(OSPlatform.OSX);
        static readonly int ProcessClock = IsMac ? 12 : 2, ThreadClock = IsMac ? 16 : 3;

        public static double Now => Stopwatch.GetTimestamp() / (double)Stopwatch.Frequency;

        /// <summary>CPU seconds of the whole process, which Mono's Process reports only in hundredths.</summary>
        public static double ProcessCpu => Read(ProcessClock);

        /// <summary>CPU seconds of the calling thread, which .NET does not report.</summary>
        public static double ThreadCpu => Read(ThreadClock);

        static double Read(int clock)
        {
            clock_gettime(clock, out Timespec time);
            return (long)time.Seconds + (long)time.Nanoseconds / 1e9;
        }

        struct Timespec
        {
            public IntPtr Seconds, Nanoseconds; // machine words
        }

        [DllImport("libc")]
        static extern int clock_gettime(int clock, out Timespec time);
    }
}
