using System.Threading;
using System.Threading.Tasks;

namespace Concwatch
{
    /// <summary>A task, as the source of its cancellation: one object less for each.</summary>
    sealed class Member : CancellationTokenSource
    {
        public Task Task;
        public double Due; // the earliest time at which it can end
    }
}
