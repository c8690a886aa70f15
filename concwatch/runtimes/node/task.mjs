const CANCELLED = new Error("cancelled"); // one for all: an error of its own would weigh as much as the task

// Who spins gives way to all that wait for their turn, and each turn is one of the loop's: ticks and commands
// come between. `setImmediate` for each would run all of them first.
const turns = [];

function nextTurn() {
  turns.shift()();
  if (turns.length) setImmediate(nextTurn);
}

export const isCancelled = (error) => error === CANCELLED;

/** Where an async function waits, so that it can be made to end there. */
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

/** A promise that a timer keeps, which no function awaits; after `Infinity` it would keep it never. */
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
    this.resolve(); // whoever waits for the promise goes on
    ended(this, "cancelled");
  }
}
