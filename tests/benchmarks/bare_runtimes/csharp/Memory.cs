using System;
using System.Diagnostics;
using System.Globalization;
using System.IO;

/// <summary>Memory figures of this process, from the system.</summary>
static class Memory
{
    const long Page = 4096;

    public static long Resident() => long.Parse(File.ReadAllText("/proc/self/statm").Split(' ')[1]) * Page;

    public static void Print(Stopwatch clock, long before)
    {
        string seconds = clock.Elapsed.TotalSeconds.ToString(CultureInfo.InvariantCulture);
        Console.WriteLine($"{{\"seconds\": {seconds}, \"rss_before\": {before}, \"rss\": {Resident()}}}");
    }
}
