// A worker of concwatch whose tasks are async methods. It speaks the wire that concwatch/portable/protocol/wire.py specifies.
using System;
using System.Diagnostics;
using System.Linq;
using System.Runtime.InteropServices;
using System.Threading;

namespace Concwatch
{
    static class Program
    {
        static int Main(string[] arguments)
        {
            string engine = arguments.FirstOrDefault();
            if (!Workload.Engines.Contains(engine))
            {
                Console.Error.WriteLine(
                    $"unknown engine \"{engine}\"; expected one of {string.Join(", ", Workload.Engines)}");
                return 2;
            }
            bool bare = engine == "csharp-timers";
            WarmUp.Run(bare);
            var wire = new Wire();
            var worker = new Worker(wire, bare);
            wire.Send(new Report("ready")
                .With("protocol", 1)
                .With("engine", engine)
                .With("runtime", RuntimeInformation.FrameworkDescription.Split('(')[0].Trim())
                .With("flags", new[] { $"{Environment.ProcessorCount} processors" })
                .With("pid", Process.GetCurrentProcess().Id)
                .With("can", new[] { "trim", "burst" })
                .With("workloads", Workload.Words(bare)));
            worker.Ticker.Start();
            new Thread(() => wire.Listen(worker.Submit)) { IsBackground = true, Name = "commands" }.Start();
            worker.Run();
            return 0;
        }
    }
}
