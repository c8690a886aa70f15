import { Timings } from "./timing.mjs";

/** The live tasks and their counters, which are cumulative except `live`. */
export class TaskSet {
  created = 0;
  completed = 0;
  failed = 0;
  cancelled = 0;
  timings = new Timings();
  #tasks = []; // each has its index: resizing a Set of a million would block the loop
  #onEnd;

  /** `onEnd` is called after each end, with the error if the task failed. */
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

  /** Cancel the newest; it is counted before the loop runs anything else. */
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
