import { now } from "./clock.mjs";

const PER_SECOND = 1000;
const AT_ONCE = 50;
const UNASKED = 10; // after a refusal; the bucket holds the tokens of many more
const MOST = 10_000; // of each kind between two ticks

/** A token bucket that limits how many tasks are timed. */
export class TokenBucket {
  #full = 0; // when the bucket is full again
  #unasked = 0; // calls of `takeNow` that will not read the clock

  /** Remove a token; return whether there was one. */
  take(time) {
    if (this.#full > time + (AT_ONCE - 1) / PER_SECOND) return false;
    this.#full = Math.max(this.#full, time) + 1 / PER_SECOND;
    return true;
  }

  /** The same at this moment. Reading the clock for each task that is replaced would cost 1 % of its life. */
  takeNow() {
    if (this.#unasked > 0) {
      this.#unasked--;
      return false;
    }
    const isTaken = this.take(now());
    if (!isTaken) this.#unasked = UNASKED;
    return isTaken;
  }
}

/** Durations and delays, in seconds, of timed tasks since the last tick. */
export class Timings {
  #durations = [];
  #delays = [];

  tookSince(began) {
    note(this.#durations, began);
  }

  waitedSince(created) {
    note(this.#delays, created);
  }

  take() {
    const taken = { durations: this.#durations, delays: this.#delays };
    this.#durations = [];
    this.#delays = [];
    return taken;
  }
}

function note(all, since) {
  // Rounded up, since no task ends before its time.
  if (all.length < MOST) all.push(Math.ceil((now() - since) * 1e6) / 1e6);
}
