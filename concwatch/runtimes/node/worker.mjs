import { getHeapStatistics } from "node:v8";
import { Burst } from "./burst.mjs";
import { now } from "./clock.mjs";
import { FileLimit } from "./file_limit.mjs";
import { TaskSet } from "./task_set.mjs";
import { Goal } from "./goal.mjs";
import { Ticker } from "./ticker.mjs";
import { TokenBucket } from "./timing.mjs";
import { refuse, send } from "./wire.mjs";
import { startersOf } from "./workload.mjs";

const SLICE = 0.01; // seconds: the longest that growing or shrinking may delay commands
const REPLACEABLE = 500; // tasks that replace themselves before commands get through, however late timers are
const FULL = 0.9; // of V8's heap: beyond it collections take seconds, and finally the process aborts

/** Holds a target. Everything runs on the loop's only thread, in slices. */
export class Worker {
  goal = new Goal();
  taskSet = new TaskSet(
    () => this.#createOne(this.#timing.takeNow()),
    (error) => this.#onEnd(error),
  );
  ticker = new Ticker(this.taskSet);
  #fileLimit = new FileLimit(this.goal, (limit) => send("limit", limit));
  #engine;
  #create;
  #createTimed;
  #timing = new TokenBucket();
  #burst = null;
  #aim = 1; // the target, or the number of tasks of a burst; at least 1
  #isCheckDue = false;
  #isFailureReported = false;

  constructor(engine) {
    this.#engine = engine;
    this.#setStarters({ word: "hold" });
  }

  #setStarters(workload) {
    const target = () => this.#aim;
    const starters = startersOf(this.#engine, workload, this.taskSet, target);
    [this.#create, this.#createTimed] = starters;
  }

  use(workload) {
    this.#setStarters(workload);
    this.#isFailureReported = false;
    this.goal.replace(this.taskSet.live);
  }

  /** Check the target soon, after the callbacks that are ready now. */
  check() {
    if (this.#isCheckDue) return;
    this.#isCheckDue = true;
    this.taskSet.replaceable = 0;
    setImmediate(() => {
      this.#isCheckDue = false;
      if (this.#burst) this.#finishBurst();
      else this.#adjust();
    });
  }

  /** Create or cancel tasks for one slice of time. */
  #adjust() {
    const end = now() + SLICE;
    this.#aim = Math.max(1, this.goal.target);
    let wanted = this.goal.wanted(this.taskSet.live);
    if (wanted > 0 && isHeapFull()) return this.#hitHeapLimit();
    for (let time; wanted > 0 && (time = now()) < end; wanted--) {
      this.taskSet.add(this.#createOne(this.#timing.take(time)));
      this.goal.created(1);
    }
    for (; wanted < 0 && now() < end; wanted++) this.taskSet.cancelOne();
    if (wanted !== 0) return this.check();
    this.#reportReached();
    if (this.goal.keepsUp(this.taskSet.live))
      this.taskSet.replaceable = REPLACEABLE;
  }

  #createOne(isTimed) {
    return isTimed ? this.#createTimed() : this.#create();
  }

  #reportReached() {
    const reached = this.goal.reached(this.taskSet, now());
    if (!reached) return;
    send("reached", reached);
    this.ticker.soon();
  }

  #hitHeapLimit() {
    const value = getHeapStatistics().heap_size_limit;
    this.stopGrowing("heap", value, "V8 allows no larger heap");
  }

  /** Make the live tasks the target, and report what prevents more. */
  stopGrowing(wall, value, detail) {
    const [standing, wanted] = [this.taskSet.live, this.goal.target];
    this.goal.settle(standing);
    send("limit", { standing, wanted, wall, value, detail });
  }

  #onEnd(error) {
    if (error instanceof RangeError) {
      // A payload for which there is no memory.
      this.stopGrowing("memory", null, error.message);
    } else if (error?.code === "EMFILE") {
      this.#fileLimit.hit(this.taskSet.live);
    } else if (error && !this.#isFailureReported) {
      this.#isFailureReported = true;
      refuse(null, `a task failed: ${error}`, error.stack);
    }
    this.check();
  }

  startBurst(tasks) {
    this.#aim = Math.max(1, tasks);
    this.#burst = new Burst(tasks, () => this.taskSet.add(this.#create()));
    this.check();
  }

  #finishBurst() {
    if (this.taskSet.live) return;
    send("burst", this.#burst.report());
    this.#burst = null;
    this.ticker.soon();
    this.check(); // a target may have arrived meanwhile
  }
}

/** Whether the heap is full of live objects rather than garbage. */
function isHeapFull() {
  const isFull = () => {
    const { used_heap_size, heap_size_limit } = getHeapStatistics();
    return used_heap_size > FULL * heap_size_limit;
  };
  if (!isFull()) return false;
  globalThis.gc();
  return isFull();
}
