using System;
using System.Threading.Tasks;

namespace Concwatch
{
    /// <summary>The table of commands.</summary>
    static class CommandTable
    {
        const long MostTasks = 1000L * 1000 * 1000;
        static readonly string[] Known =
            { "target", "refill", "workload", "halt", "rate", "trim", "burst", "stop" };

        /// <summary>Applies a command on the worker's own thread, or refuses it.</summary>
        public static void Apply(Worker worker, Wire wire, Command command)
        {
            string type = Command.Short(command.Type);
            try
            {
                Act(worker, command);
            }
            catch (RefusedException refused)
            {
                wire.Refuse(type, refused.Message);
                return;
            }
            if (type != "target")
            {
                wire.Send(new Report("applied")
                    .With("command", type)
                    .With("seconds", Clock.Now - command.Arrived));
            }
        }

        static void Act(Worker worker, Command command)
        {
            switch (command.Type)
            {
                case "target":
                    worker.SetTarget(command.Whole("tasks", MostTasks), command.Arrived);
                    break;
                case "refill":
                    worker.Goal.SetRefill(command.Flag("on"));
                    break;
                case "workload":
                    worker.Use(command);
                    break;
                case "halt":
                    worker.StopGrowing(command.Word("wall"), command.Whole("value", long.MaxValue), "");
                    break;
                case "rate":
                    worker.Ticker.SetRate(command.Number("hz", 0.1, 100, "ticks a second"));
                    break;
                case "trim":
                    Trim();
                    break;
                case "burst":
                    if (command.Value("chunks") is long chunks && chunks > 1
                        || command.Value("older") is long older && older > 0
                        || command.Value("read_after") != null)
                    {
                        throw new RefusedException(
                            "a burst here has one part, none that are older, and no reading");
                    }
                    worker.StartBurst(command.Whole("tasks", MostTasks));
                    break;
                default:
                    string known = string.Join(", ", Known);
                    throw new RefusedException(
                        $"unknown command \"{Command.Short(command.Type)}\"; expected one of {known}");
            }
        }

        static void Trim()
        {
#if NET8_0_OR_GREATER
            GC.Collect(GC.MaxGeneration, GCCollectionMode.Aggressive, blocking: true, compacting: true);
#else
            Task.Delay(1).Wait(); // Mono keeps cancelled timers until another one fires
            GC.Collect();
            GC.Collect(); // the second collection returns what the first one freed
#endif
        }
    }
}
