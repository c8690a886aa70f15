/** The target, and how many tasks are still missing. */
export class Goal {
  target = 0;
  refill = true;
  #left = 0; // without refill: tasks of the target still to be created
  #due = 0; // the value of `created` at which the target is met
  #replacing = false; // live tasks are cancelled first: the workload has changed
  #request = null; // when the target arrived, and the counters at that time

  setTarget(target, counts, arrived) {
    this.target = target;
    this.#left = Math.max(0, target - (this.#replacing ? 0 : counts.live));
    this.#due = counts.created + this.#left;
    const { created, cancelled } = counts;
    this.#request = { arrived, created, cancelled };
  }

  setRefill(on) {
    this.refill = on;
    this.#left = 0;
  }

  replace(live) {
    // Tasks that an earlier change is still cancelling are already among those left to create.
    const again = this.#replacing
      ? 0
      : Math.min(live, this.target - this.#left);
    this.#replacing = live > 0;
    this.#left += again;
    this.#due += again;
  }

  /** Lower the target to what is live, to stop growth. */
  settle(live) {
    this.target = Math.min(this.target, live);
    this.#left = 0;
    this.#request = null;
  }

  created(count) {
    this.#left = Math.max(0, this.#left - count);
  }

  /** Whether a task that completes may start another in its place. */
  keepsUp(live) {
    return this.refill && !this.#replacing && live <= this.target;
  }

  /** How many tasks to create or, if negative, to cancel. */
  wanted(live) {
    if (this.#replacing) {
      this.#replacing = live > 0;
      if (this.#replacing) return -live;
    }
    if (live > this.target || this.refill) return this.target - live;
    return Math.min(this.#left, this.target - live);
  }

  /** The report, once, when the target has been met. */
  reached(counts, now) {
    const request = this.#request;
    const isMet = counts.created >= this.#due && counts.live <= this.target;
    if (request === null || !isMet) return null;
    this.#request = null;
    return {
      target: this.target,
      live: counts.live,
      created: counts.created - request.created,
      cancelled: counts.cancelled - request.cancelled,
      seconds: now - request.arrived,
    };
  }
}
