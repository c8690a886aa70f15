// Starts as many timer promises as the argument states, each of which can be cancelled, and one that awaits all.
import { resident } from "./memory.mjs";

class Timer {
  constructor(milliseconds) {
    this.promise = new Promise((resolve) => {
      this.resolve = resolve;
      this.timer = setTimeout(resolve, milliseconds);
    });
  }

  cancel() {
    clearTimeout(this.timer);
    this.resolve();
  }
}

const count = Number(process.argv[2]);
const before = resident();
const began = performance.now();

const timers = [];
for (let i = 0; i < count; i++) timers.push(new Timer(3_600_000));
const all = Promise.all(timers.map(({ promise }) => promise));

const seconds = (performance.now() - began) / 1000;
console.log(JSON.stringify({ seconds, rss_before: before, rss: resident() }));
timers.forEach((timer) => timer.cancel());
all.then(() => process.exit(0));
