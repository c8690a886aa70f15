import { Timings } from "./timing.mjs";

/** The tasks that live, and what they have counted; all of the counters but `live` are cumulative. */
export class Crew {
  created = 0;
  completed = 0;
  failed = 0;
  cancelled = 0;
  timings = new Timings();
  #tasks = []; // each knows its place: a Set of a million stops everything while it is laid out anew
  #onEnd;

  /** `onEnd` is called after each end, with the error of a task that failed. */
  constructor(onEnd) {
    this.#onEnd = onEnd;
  }

  get live() {
    return this.created - this.completed - this.failed - this.cancelled;
  }

  start(create) {
    this.created++;
    const task = create();
    task.place = this.#tasks.push(task) - 1;
  }

  /** Have the youngest end; it has counted itself before the loop turns to anything else. */
  cancelOne() {
    const task = this.#tasks.pop();
    task.place = -1;
    task.cancel(this.ended);
  }

  ended = (task, how, error) => {
    if (task.place >= 0) {
      const last = this.#tasks.pop();
      last.place = task.place;
      if (last !== task) this.#tasks[task.place] = last;
    }
    this[how]++;
    this.#onEnd(error);
  };
}
