import { now } from "./clock.mjs";

const PER_SECOND = 1000;
const AT_ONCE = 50;
const MOST = 10_000; // of a kind between two ticks

/** Limits how many tasks are timed. */
export class TokenBucket {
  #full = 0; // when no token will be missing

  /** Remove a token, if there is one; return whether there was. */
  take(time) {
    if (this.#full > time + (AT_ONCE - 1) / PER_SECOND) return false;
    this.#full = Math.max(this.#full, time) + 1 / PER_SECOND;
    return true;
  }
}

/** Seconds that timed tasks took, and waited to begin, since the last tick. */
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
  if (all.length < MOST) all.push(Number((now() - since).toPrecision(4)));
}
