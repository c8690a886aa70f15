/** Seconds on a monotonic clock. */
export const now = () => performance.now() / 1000;
