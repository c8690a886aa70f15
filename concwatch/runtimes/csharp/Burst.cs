namespace Concwatch
{
    /// <summary>Tasks that run to their end, created without a pause as a plain program would.</summary>
    sealed class Burst
    {
        readonly long tasks;
        readonly double began = Clock.Now, beganCpu = Clock.ProcessCpu;
        readonly double creation, creationCpu;

        public Burst(long tasks, TaskSet taskSet, Workload workload)
        {
            this.tasks = tasks;
            for (long i = 0; i < tasks; i++)
            {
                taskSet.Start(workload);
            }
            creation = Clock.Now - began;
            creationCpu = Clock.ProcessCpu - beganCpu;
        }

        /// <summary>Returns the report when all have ended.</summary>
        public Report ToReport() =>
            new Report("burst")
                .With("tasks", tasks)
                .With("create_seconds", creation)
                .With("create_cpu", creationCpu)
                .With("seconds", Clock.Now - began)
                .With("cpu", Clock.ProcessCpu - beganCpu)
                .WithNull("live")
                .WithNull("traced");
    }
}
