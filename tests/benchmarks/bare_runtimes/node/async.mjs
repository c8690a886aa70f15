// Holds async functions that sleep; each can be cancelled, and is replaced as it ends.
// Arguments: how many, and the least and the most seconds that they sleep.
import { createInterface } from "node:readline";

const CANCELLED = new Error("cancelled");
const [count, least, most] = process.argv.slice(2).map(Number);
const jobs = Array(count);
let ended = 0;

class Job {
  async run(place, milliseconds) {
    jobs[place] = this;
    try {
      await this.sleep(milliseconds);
    } catch (error) {
      if (error === CANCELLED) return;
      throw error;
    }
    ended++;
    new Job().run(place, milliseconds);
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
  for (let i = 0; i < count; i++) {
    const at = (i * 0.6180339887498949) % 1;
    new Job().run(i, Math.trunc((least + at * (most - least)) * 1000));
  }
  console.log("live", (performance.now() - began) / 1000);
  lines.on("line", () => console.log("ended", ended));
});
lines.on("close", () => process.exit());
