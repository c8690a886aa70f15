// Holds promises that timers resolve; each can be cancelled, and is replaced as it ends.
// Arguments: how many, and the least and the most seconds that they wait.
import { createInterface } from "node:readline";

const [count, least, most] = process.argv.slice(2).map(Number);
const timers = Array(count);
let ended = 0;

class Timer {
  constructor(place, milliseconds) {
    this.promise = new Promise((resolve) => {
      this.resolve = resolve;
      this.timer = setTimeout(expire, milliseconds, place, milliseconds);
    });
  }

  cancel() {
    clearTimeout(this.timer);
    this.resolve();
  }
}

function expire(place, milliseconds) {
  timers[place].resolve();
  ended++;
  timers[place] = new Timer(place, milliseconds);
}

const lines = createInterface(process.stdin);
console.log("idle");
lines.once("line", () => {
  const began = performance.now();
  for (let i = 0; i < count; i++) {
    const at = (i * 0.6180339887498949) % 1;
    timers[i] = new Timer(i, Math.trunc((least + at * (most - least)) * 1000));
  }
  console.log("live", (performance.now() - began) / 1000);
  lines.on("line", () => console.log("ended", ended));
});
lines.on("close", () => process.exit());
