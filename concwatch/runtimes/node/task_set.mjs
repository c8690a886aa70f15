import { Timings } from "./timing.mjs";

/** The live tasks and their counters, which are cumulative except `live`. */
export class TaskSet {
  created = 0;
  completed = 0;
  failed = 0;
  cancelled = 0;
  timings = new Timings();
  replaceable = 0; // how many tasks that complete may still start another in their place
  #tasks = []; // each has its index: resizing a Set of a million would block the loop
  #create;
  #onEnd;

  /**
   * `create` starts a task that replaces another; `onEnd` is called after each end of a task that was
   * not replaced, with the error if it failed.
   */
  constructor(create, onEnd) {
    this.#create = create;
    this.#onEnd = onEnd;
  }

  get live() {
    return this.created - this.completed - this.failed - this.cancelled;
  }

  add(task) {
    this.created++;
    task.place = this.#tasks.push(task) - 1;
  }

  /** Cancel the newest; it is counted before the loop runs anything else. */
  cancelOne() {
    const task = this.#tasks.pop();
    task.place = -1;
    task.cancel(this.ended);
  }

  complete = (task) => {
    const { place } = task;
    if (place < 0 || this.replaceable === 0)
      return this.ended(task, "completed");
    this.replaceable--;
    this.completed++;
    this.created++;
    const next = this.#create();
    next.place = place;
    this.#tasks[place] = next;
  };

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
