import { number, whole } from "./fields.mjs";
import { isCancelled, Task, Timer } from "./task.mjs";

const LONGEST = 1_000_000; // seconds, as everywhere in concwatch; a timer here could wait twice as long
const MOST_TICKS = 1_000_000;
const LARGEST = 2 ** 32; // bytes: what one Buffer can be
const PAGE = 4096;
const TURN = 0.001; // seconds of spinning before others get theirs

/** CPU seconds of this thread; of the whole process, its collector included, where Node cannot tell. */
function cpuTime() {
  const { user, system } = (process.threadCpuUsage ?? process.cpuUsage)();
  return (user + system) / 1e6;
}

const milliseconds = (fields) =>
  number(fields, "seconds", 0, LONGEST, "seconds") * 1000;

/** Word → what each task does. */
const BODIES = {
  sleep: (fields) => {
    const length = milliseconds(fields);
    return (task) => task.sleep(length);
  },
  ticks: (fields) => {
    const count = whole(fields, "count", MOST_TICKS);
    const length = milliseconds(fields);
    return async (task) => {
      for (let i = 0; i < count; i++) await task.sleep(length);
    };
  },
  hold: () => (task) => task.forever(),
  payload: (fields) => {
    const size = whole(fields, "size", LARGEST);
    return async (task) => {
      const held = Buffer.allocUnsafeSlow(size);
      for (let i = 0; i < size; i += PAGE) held[i] = 1;
      await task.forever();
      return held;
    };
  },
  spin: (fields) => {
    const seconds = milliseconds(fields) / 1000;
    return async (task) => {
      for (let used = 0; used < seconds;) {
        await task.giveWay();
        const began = cpuTime();
        const turn = Math.min(TURN, seconds - used);
        while (cpuTime() - began < turn);
        used += cpuTime() - began;
      }
    };
  },
  nop: () => async () => {},
};

/** Word → how long a bare timer waits that does the same. */
const TIMERS = {
  sleep: milliseconds,
  hold: () => Infinity,
};

export const WORDS = Object.keys(BODIES);

/** Engine → the words of which it has a bare timer do; an async function does the others. */
export const ENGINES = { node: {}, "node-timers": TIMERS };

/** Give what starts one task of this workload; `ended` is told the task, and how it has ended. */
export function starter(engine, fields, ended) {
  if (!WORDS.includes(fields.word)) {
    const spec = String(fields.spec).slice(0, 60);
    throw new Error(`workload "${spec}": expected one of ${WORDS.join(", ")}`);
  }
  return Object.hasOwn(ENGINES[engine], fields.word)
    ? timerStarter(ENGINES[engine][fields.word](fields), ended)
    : taskStarter(BODIES[fields.word](fields), ended);
}

function timerStarter(length, ended) {
  const expire = (timer) => {
    timer.resolve();
    ended(timer, "completed");
  };
  return () => new Timer(length, expire);
}

// What all tasks share is in the closure: as arguments it would weigh on each of them.
function taskStarter(body, ended) {
  const run = async (task) => {
    try {
      await body(task);
    } catch (error) {
      if (isCancelled(error)) return ended(task, "cancelled");
      return ended(task, "failed", error);
    }
    ended(task, "completed");
  };
  return () => {
    const task = new Task();
    run(task);
    return task;
  };
}
