// Starts as many sleeping async functions as the argument states, each of which can be cancelled.
import { resident } from "./memory.mjs";

class Cancelled extends Error {}

class Job {
  async run() {
    try {
      await this.sleep(3_600_000);
    } catch (error) {
      if (!(error instanceof Cancelled)) throw error;
    }
  }

  sleep(milliseconds) {
    return new Promise((resolve, reject) => {
      this.reject = reject;
      this.timer = setTimeout(resolve, milliseconds);
    });
  }

  cancel() {
    clearTimeout(this.timer);
    this.reject(new Cancelled());
  }
}

const count = Number(process.argv[2]);
const before = resident();
const began = performance.now();

const jobs = [];
for (let i = 0; i < count; i++) {
  const job = new Job();
  job.run();
  jobs.push(job);
}

const seconds = (performance.now() - began) / 1000;
console.log(JSON.stringify({ seconds, rss_before: before, rss: resident() }));
jobs.at(-1).cancel();
process.exit(0);
