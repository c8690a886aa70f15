import { readFileSync } from "node:fs";

const QUIET = 250; // milliseconds without a failure after which the limit is reported

/** The limit on open files of this process, or null if it cannot be read. */
function openFiles() {
  try {
    const limits = readFileSync("/proc/self/limits", "utf8");
    return Number(/^Max open files +(\d+)/m.exec(limits)?.[1]) || null;
  } catch {
    return null;
  }
}

/**
 * Running tasks hit this limit, many at once, and each that fails would be replaced by one that fails as
 * well: so the target is lowered while they fail, and reported when that is over.
 */
export class FileLimit {
  #goal;
  #report;
  #value = openFiles(); // now, since no file can be opened at the limit
  #wanted; // the target before it was lowered
  #lowered = -1; // the one that it was lowered to
  #timer;

  constructor(goal, report) {
    this.#goal = goal;
    this.#report = report;
  }

  /** A task has failed at it, and so many are live. */
  hit(live) {
    const { target } = this.#goal;
    if (live > target) return; // too many are, and are being cancelled anyway
    if (target !== this.#lowered) this.#wanted = target;
    this.#goal.settle(live);
    this.#lowered = live;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#end(), QUIET);
  }

  #end() {
    const standing = this.#lowered;
    this.#lowered = -1;
    if (standing !== this.#goal.target) return; // another target has been set since
    this.#report({
      standing,
      wanted: this.#wanted,
      wall: "ulimit -n",
      value: this.#value,
      detail: "too many open files",
    });
  }
}
