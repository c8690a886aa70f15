using System;
using System.Runtime.InteropServices;

namespace Concwatch
{
    /// <summary>The limit on open files, which Mono does not raise by itself, as .NET does.</summary>
    static class OpenFiles
    {
        static readonly int Resource = RuntimeInformation.IsOSPlatform(OSPlatform.OSX) ? 8 : 7;

        /// <summary>The limit now, or null if it is unlimited or unknown.</summary>
        public static long? Limit =>
            getrlimit(Resource, out Limits limits) == 0 && (ulong)limits.Soft <= long.MaxValue
                ? (long)(ulong)limits.Soft
                : (long?)null;

        /// <summary>Raises the soft limit to the hard one. macOS reports a hard limit that it does not grant.</summary>
        public static void RaiseLimit()
        {
            if (getrlimit(Resource, out Limits limits) == 0)
            {
                limits.Soft = limits.Hard;
                setrlimit(Resource, ref limits);
            }
        }

        struct Limits
        {
            public UIntPtr Soft, Hard; // machine words
        }

        [DllImport("libc")]
        static extern int getrlimit(int resource, out Limits limits);

        [DllImport("libc")]
        static extern int setrlimit(int resource, ref Limits limits);
    }
}
