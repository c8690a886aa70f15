// Holds promises that timers resolve; each can be cancelled, and is replaced as it ends.
// Arguments: how many, and the least and the most seconds that they wait.
import { createInterface } from "node:readline";

const [count, least, most] = process.argv.slice(2).map(Number);
const timers = [];
let ended = 0;
let at = 0; // covers 0 to 1 evenly

/** The next sleep in milliseconds. */
function length() {
  at = (at + 0.6180339887498949) % 1;
  return (least + at * (most - least)) * 1000;
}

class Timer {
  constructor(place) {
    this.promise = new Promise((resolve) => {
      this.resolve = resolve;
      this.timer = setTimeout(expire, length(), place);
    });
  }

  cancel() {
    clearTimeout(this.timer);
    this.resolve();
  }
}

function expire(place) {
  timers[place].resolve();
  ended++;
  timers[place] = new Timer(place);
}

const lines = createInterface(process.stdin);
console.log("idle");
lines.once("line", () => {
  const began = performance.now();
  for (let i = 0; i < count; i++) timers[i] = new Timer(i);
  console.log("live", (performance.now() - began) / 1000);
  lines.on("line", () => console.log("ended", ended));
});
lines.on("close", () => process.exit());
