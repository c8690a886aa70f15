namespace Concwatch
{
    /// <summary>
    /// Lowers the target while tasks fail because they cannot open a file, and reports that once it is over.
    /// Only the worker's own thread uses it.
    /// </summary>
    /// <remarks>
    /// Other limits prevent a task from being created. This one is hit by tasks that already run, by many at
    /// once, and each that fails would be replaced by one that fails as well.
    /// </remarks>
    sealed class FileLimit
    {
        const double Quiet = 0.25; // seconds without a failure after which it is over

        readonly Goal goal;
        string detail; // of the last failure; null if there is nothing to report
        double last;
        long wanted, standing;

        public FileLimit(Goal goal) => this.goal = goal;

        /// <summary>Whether there is something to report later.</summary>
        public bool Pending => detail != null;

        /// <summary>Records a failure, and lowers the target.</summary>
        /// <param name="live">Live tasks that are not being cancelled.</param>
        public void Record(string message, long live)
        {
            last = Clock.Now;
            if (live > goal.Keep)
            {
                return; // those in excess are being cancelled anyway
            }
            if (detail == null || goal.Target != standing)
            {
                wanted = goal.Target;
            }
            detail = message;
            goal.Settle(live);
            standing = goal.Target;
        }

        /// <summary>Returns the report once, when the last failure was a while ago; else null.</summary>
        public Report Over()
        {
            if (detail == null || Clock.Now - last < Quiet)
            {
                return null;
            }
            string what = detail;
            detail = null;
            if (goal.Target != standing)
            {
                return null; // another one has been set since
            }
            return Worker.LimitReport(standing, wanted, "ulimit -n", OpenFiles.Limit, what);
        }
    }
}
