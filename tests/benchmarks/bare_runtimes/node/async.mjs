// Holds async functions that sleep; each can be cancelled, and is replaced as it ends.
// Arguments: how many, and the least and the most seconds that they sleep.
import { createInterface } from "node:readline";

const CANCELLED = new Error("cancelled");
const [count, least, most] = process.argv.slice(2).map(Number);
const jobs = [];
let ended = 0;
let at = 0; // covers 0 to 1 evenly

/** The next sleep in milliseconds. */
function length() {
  at = (at + 0.6180339887498949) % 1;
  return (least + at * (most - least)) * 1000;
}

class Job {
  async run(place) {
    jobs[place] = this;
    try {
      await this.sleep(length());
    } catch (error) {
      if (error === CANCELLED) return;
      throw error;
    }
    ended++;
    new Job().run(place);
  }

  sleep(milliseconds) {
    return new Promise((resolve, reject) => {
      this.reject = reject;
      this.timer = setTimeout(resolve, milliseconds);
    });
  }

  cancel() {
    clearTimeout(this.timer);
    this.reject(CANCELLED);
  }
}

const lines = createInterface(process.stdin);
console.log("idle");
lines.once("line", () => {
  const began = performance.now();
  for (let i = 0; i < count; i++) new Job().run(i);
  console.log("live", (performance.now() - began) / 1000);
  lines.on("line", () => console.log("ended", ended));
});
lines.on("close", () => process.exit());
