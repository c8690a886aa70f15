import { PerformanceObserver } from "node:perf_hooks";
import { getHeapStatistics } from "node:v8";
import { now } from "./clock.mjs";
import { isBacklogged, send } from "./wire.mjs";

/** Sends ticks by a timer like those of tasks: its delay is the lag. */
export class Ticker {
  #counts;
  #interval = 0.1;
  #due = now();
  #timer;
  #worst = 0; // lag of ticks that were skipped
  #collecting = 0; // seconds spent collecting

  constructor(counts) {
    this.#counts = counts;
    new PerformanceObserver((list) => {
      for (const { duration } of list.getEntries())
        this.#collecting += duration / 1000;
    }).observe({ entryTypes: ["gc"] });
    this.soon();
  }

  setRate(hz) {
    this.#interval = 1 / hz;
    this.soon();
  }

  soon() {
    clearTimeout(this.#timer);
    this.#due = now();
    this.#timer = setTimeout(() => this.#tick(), 0);
  }

  #tick() {
    const time = now();
    this.#worst = Math.max(this.#worst, time - this.#due);
    if (!isBacklogged()) {
      this.#report(time);
      this.#worst = 0;
    }
    this.#due = Math.max(this.#due + this.#interval, time); // do not catch up
    this.#timer = setTimeout(() => this.#tick(), (this.#due - now()) * 1000);
  }

  #report(time) {
    const { created, live, completed, failed, cancelled } = this.#counts;
    const usage = process.resourceUsage();
    send("tick", {
      time,
      created,
      live,
      queued: 0,
      completed,
      failed,
      cancelled,
      lag: this.#worst,
      gc: this.#collecting,
      heap: getHeapStatistics().used_heap_size, // process.memoryUsage() opens a file
      cpu: (usage.userCPUTime + usage.systemCPUTime) / 1e6,
      switches:
        usage.voluntaryContextSwitches + usage.involuntaryContextSwitches,
      ...this.#counts.timings.take(),
    });
  }
}
