import { now } from "./clock.mjs";

function cpuSince(before) {
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1e6;
}

/** Tasks that run to their end, created without a pause as a plain program would. */
export class Burst {
  #tasks;
  #began = now();
  #used = process.cpuUsage();
  #creation;

  constructor(tasks, create) {
    this.#tasks = tasks;
    for (let i = 0; i < tasks; i++) create();
    this.#creation = {
      create_seconds: now() - this.#began,
      create_cpu: cpuSince(this.#used),
    };
  }

  /** The report when all tasks have ended. */
  report() {
    return {
      tasks: this.#tasks,
      ...this.#creation,
      seconds: now() - this.#began,
      cpu: cpuSince(this.#used),
      live: null,
      traced: null,
    };
  }
}
