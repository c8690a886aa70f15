import { now } from "./clock.mjs";
import { connecting } from "./connect.mjs";
import { fetching } from "./fetch.mjs";
import { number, positive, whole } from "./fields.mjs";
import { isCancelled, Task, Timer } from "./task.mjs";

const LONGEST = 1_000_000; // seconds, as in the other engines; the limit of a timer is twice as much
const MOST_RATE = 1_000_000; // tasks a second
const SHORTEST_MEAN = 0.001; // seconds
const MOST_TICKS = 1_000_000;
const LARGEST = 2 ** 32; // bytes: what one Buffer can be
const PAGE = 4096;
const TURN = 0.001; // seconds of spinning before others get their turn

/** CPU seconds of this thread; of the whole process, including its collector, if Node cannot report that. */
function cpuTime() {
  const { user, system } = (process.threadCpuUsage ?? process.cpuUsage)();
  return (user + system) / 1e6;
}

const milliseconds = (fields) =>
  number(fields, "seconds", 0, LONGEST, "seconds") * 1000;

/** Return a function that returns the next sleep in milliseconds: always the same, or evenly spread up to `to`. */
function sleeps(fields) {
  const least = timerOf(milliseconds(fields));
  if (fields.to === undefined) return () => least;
  const span = number(fields, "to", 0, LONGEST, "seconds") * 1000 - least;
  return drawn((at) => least + at * span);
}

/** The same, exponentially distributed, so that `rate` tasks a second end whatever the target is. */
function churn(fields, target) {
  const rate = positive(fields, "rate", MOST_RATE, "tasks a second");
  return drawn((at) => {
    const mean = Math.max(SHORTEST_MEAN, target() / rate);
    return rounded(1000 * Math.min(LONGEST, -mean * Math.log1p(-at)));
  });
}

/**
 * Round to one of 32 numbers in each octave: Node.js keeps a list for each
 * different time of a timer, which took up to a quarter of a task's memory.
 */
function rounded(milliseconds) {
  const step = Math.max(1, 2 ** (26 - Math.clz32(milliseconds)));
  return Math.round(milliseconds / step) * step;
}

const GOLDEN = 0.6180339887498949;

/** Return a function that returns the next sleep; `length` makes one of a number that covers 0 to 1 evenly. */
function drawn(length) {
  let at = 0;
  return () => {
    at = (at + GOLDEN) % 1;
    return timerOf(length(at));
  };
}

/** The time of a timer that never fires early: the loop's clock counts whole milliseconds. */
const timerOf = (milliseconds) => Math.ceil(milliseconds) + 1;

const sleeping = (length) => (task) => task.sleep(length());

/** Word → what each task does; `target` returns the current one. */
const BODIES = {
  sleep: (fields) => sleeping(sleeps(fields)),
  churn: (fields, target) => sleeping(churn(fields, target)),
  ticks: (fields) => {
    const count = whole(fields, "count", MOST_TICKS);
    const length = timerOf(milliseconds(fields));
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
  http: fetching,
  connect: (fields) =>
    connecting(
      fields,
      fields.seconds === undefined ? undefined : timerOf(milliseconds(fields)),
    ),
};

/** Word → how long a bare timer with the same effect waits. */
const TIMERS = {
  sleep: sleeps,
  churn,
  hold: () => () => Infinity,
};

/** Engine → the words that it runs as a bare timer rather than an async function. */
export const ENGINES = { node: {}, "node-timers": TIMERS };

/** The words that an engine supports: a bare timer has no connection. */
export function wordsOf(engine) {
  const words = Object.keys(BODIES);
  if (ENGINES[engine] !== TIMERS) return words;
  return words.filter((word) => word !== "http" && word !== "connect");
}

/**
 * Return a function that starts one task of this workload, and one that starts a
 * timed task; each reports its end to `taskSet`. `target` returns the current one.
 */
export function startersOf(engine, fields, taskSet, target) {
  const words = wordsOf(engine);
  if (!words.includes(fields.word)) {
    const spec = String(fields.spec).slice(0, 60);
    throw new Error(`unknown workload "${spec}"; expected one of ${words.join(", ")}`);
  }
  return Object.hasOwn(ENGINES[engine], fields.word)
    ? timerStarters(ENGINES[engine][fields.word](fields, target), taskSet)
    : taskStarters(BODIES[fields.word](fields, target), taskSet);
}

function timerStarters(length, { complete, timings }) {
  const expire = (timer) => {
    timer.resolve();
    complete(timer);
  };
  const startTimed = () => {
    const began = now();
    return new Timer(length(), (timer) => {
      timings.tookSince(began);
      expire(timer);
    });
  };
  return [() => new Timer(length(), expire), startTimed];
}

// What all tasks share is in the closure: as arguments it would take memory in each.
function taskStarters(body, { complete, ended, timings }) {
  const end = (task, error) => {
    if (error === undefined) complete(task);
    else if (isCancelled(error)) ended(task, "cancelled");
    else ended(task, "failed", error);
  };
  // With fewer variables V8 saves fewer in each task: a `return` in the `catch` would take 8 bytes.
  const run = async (task) => {
    let error;
    try {
      await body(task);
    } catch (thrown) {
      error = thrown;
    }
    end(task, error);
  };
  let created; // of the timed task that is being started, which begins at once
  const runTimed = async (task) => {
    timings.waitedSince(created);
    const began = now();
    let error;
    try {
      await body(task);
      timings.tookSince(began);
    } catch (thrown) {
      error = thrown;
    }
    end(task, error);
  };
  const start = (run) => {
    const task = new Task();
    run(task);
    return task;
  };
  const startTimed = () => {
    created = now();
    return start(runTimed);
  };
  return [() => start(run), startTimed];
}
