import { getHeapStatistics } from "node:v8";
import { Burst } from "./burst.mjs";
import { now } from "./clock.mjs";
import { Crew } from "./crew.mjs";
import { Goal } from "./goal.mjs";
import { Ticker } from "./ticker.mjs";
import { refuse, send } from "./wire.mjs";
import { starter } from "./workload.mjs";

const SLICE = 0.01; // seconds: the longest that growing or shrinking may keep commands waiting
const FULL = 0.9; // of V8's heap: what comes then is collections of seconds, and an abort in the end

/** Holds a goal. Everything runs on the loop's one thread, in slices. */
export class Worker {
  goal = new Goal();
  crew = new Crew((error) => this.#onEnd(error));
  ticker = new Ticker(this.crew);
  #engine;
  #create;
  #burst = null;
  #isLookDue = false;
  #isFailureTold = false;

  constructor(engine) {
    this.#engine = engine;
    this.#create = starter(engine, { word: "hold" }, this.crew.ended);
  }

  use(workload) {
    this.#create = starter(this.#engine, workload, this.crew.ended);
    this.#isFailureTold = false;
    this.goal.replace(this.crew.live);
  }

  /** Have the goal looked at once, after all that runs now. */
  look() {
    if (this.#isLookDue) return;
    this.#isLookDue = true;
    setImmediate(() => {
      this.#isLookDue = false;
      if (this.#burst) this.#finishBurst();
      else this.#adjust();
    });
  }

  /** Create or cancel tasks for one slice of time. */
  #adjust() {
    this.#tellReached();
    const end = now() + SLICE;
    let wanted = this.goal.wanted(this.crew.live);
    if (wanted > 0 && isHeapFull()) return this.#hitHeapLimit();
    if (wanted !== 0) this.look();
    for (; wanted > 0 && now() < end; wanted--) {
      this.crew.start(this.#create);
      this.goal.created(1);
    }
    for (; wanted < 0 && now() < end; wanted++) this.crew.cancelOne();
  }

  #tellReached() {
    const reached = this.goal.reached(this.crew, now());
    if (!reached) return;
    send("reached", reached);
    this.ticker.soon();
  }

  #hitHeapLimit() {
    const value = getHeapStatistics().heap_size_limit;
    this.stopGrowing("heap", value, "V8 allows no larger heap");
  }

  /** Make what is live the target, and report what holds the rest back. */
  stopGrowing(wall, value, detail) {
    const [standing, wanted] = [this.crew.live, this.goal.target];
    this.goal.settle(standing);
    send("limit", { standing, wanted, wall, value, detail });
  }

  #onEnd(error) {
    if (error instanceof RangeError) {
      // Of a payload for which there is no memory.
      this.stopGrowing("memory", null, error.message);
    } else if (error && !this.#isFailureTold) {
      this.#isFailureTold = true;
      refuse(null, `a task failed: ${error}`, error.stack);
    }
    this.look();
  }

  startBurst(tasks) {
    this.#burst = new Burst(tasks, () => this.crew.start(this.#create));
    this.look();
  }

  #finishBurst() {
    if (this.crew.live) return;
    send("burst", this.#burst.report());
    this.#burst = null;
    this.ticker.soon();
    this.look(); // a target may have come meanwhile
  }
}

/** Whether the heap is full of what lives, not of garbage. */
function isHeapFull() {
  const isFull = () => {
    const { used_heap_size, heap_size_limit } = getHeapStatistics();
    return used_heap_size > FULL * heap_size_limit;
  };
  if (!isFull()) return false;
  globalThis.gc();
  return isFull();
}
