import { now } from "./clock.mjs";

const PER_SECOND = 1000;
const AT_ONCE = 50;
const MOST = 10_000; // of each kind between two ticks

/** A token bucket that limits how many tasks are timed. */
export class TokenBucket {
  #full = 0; // when the bucket is full again

  /** Remove a token; return whether there was one. */
  take(time) {
    if (this.#full > time + (AT_ONCE - 1) / PER_SECOND) return false;
    this.#full = Math.max(this.#full, time) + 1 / PER_SECOND;
    return true;
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
