const CANCELLED = new Error("cancelled"); // shared: an error per task would take as much memory as the task

// A spinning task yields to all others that spin, and each turn is an iteration of the loop, so that ticks and
// commands get through. A `setImmediate` for each would run all of them first.
const turns = [];

function nextTurn() {
  turns.shift()();
  if (turns.length) setImmediate(nextTurn);
}

export const isCancelled = (error) => error === CANCELLED;

/** Where an async function waits, so that it can be cancelled there. */
export class Task {
  place = -1;
  #reject;
  #timer;

  sleep(milliseconds) {
    return new Promise((resolve, reject) => {
      this.#reject = reject;
      this.#timer = setTimeout(resolve, milliseconds);
    });
  }

  forever() {
    return new Promise((_, reject) => {
      this.#reject = reject;
    });
  }

  /** Wait until `begin` calls one of its arguments: the first when that is over, the second with an error. */
  until(begin) {
    return new Promise((resolve, reject) => {
      this.#reject = reject;
      begin(resolve, reject);
    });
  }

  giveWay() {
    return new Promise((resolve, reject) => {
      this.#reject = reject;
      if (turns.push(resolve) === 1) setImmediate(nextTurn);
    });
  }

  cancel() {
    clearTimeout(this.#timer);
    this.#reject(CANCELLED);
  }
}

/** A promise resolved by a timer, which no function awaits; with `Infinity` it never is. */
export class Timer {
  place = -1;
  #timer;

  constructor(milliseconds, expire) {
    this.promise = new Promise((resolve) => {
      this.resolve = resolve;
    });
    if (milliseconds < Infinity)
      this.#timer = setTimeout(expire, milliseconds, this);
  }

  cancel(ended) {
    clearTimeout(this.#timer);
    this.resolve(); // whoever awaits the promise continues
    ended(this, "cancelled");
  }
}
