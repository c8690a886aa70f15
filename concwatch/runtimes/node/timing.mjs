import { now } from "./clock.mjs";

const PER_SECOND = 1000;
const AT_ONCE = 50;
const MOST = 10_000; // of a kind between two ticks

/** Limits how many tasks are timed. */
export class TokenBucket {
  #tokens = AT_ONCE;
  #filled = now();

  /** Remove a token, if there is one; return whether there was. */
  take(time) {
    const fresh = (time - this.#filled) * PER_SECOND;
    this.#tokens = Math.min(AT_ONCE, this.#tokens + fresh);
    this.#filled = time;
    if (this.#tokens < 1) return false;
    this.#tokens--;
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
