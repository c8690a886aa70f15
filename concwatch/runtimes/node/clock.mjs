/** Seconds on a clock that never goes back. */
export const now = () => performance.now() / 1000;
