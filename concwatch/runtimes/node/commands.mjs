import { now } from "./clock.mjs";
import { flag, number, whole, word } from "./fields.mjs";
import { refuse, send } from "./wire.mjs";

const MOST_TASKS = 1_000_000_000;

/** Type → handler; throws an Error, with one line for the user, for an invalid field. */
const COMMANDS = {
  target: (worker, fields, arrived) => {
    const tasks = whole(fields, "tasks", MOST_TASKS);
    worker.goal.setTarget(tasks, worker.taskSet, arrived);
  },
  refill: (worker, fields) => worker.goal.setRefill(flag(fields, "on")),
  workload: (worker, fields) => worker.use(fields),
  halt: (worker, fields) => {
    const wall = word(fields, "wall");
    const value = whole(fields, "value", Number.MAX_SAFE_INTEGER);
    worker.stopGrowing(wall, value, "");
  },
  rate: (worker, fields) =>
    worker.ticker.setRate(number(fields, "hz", 0.1, 100, "ticks a second")),
  trim: () => globalThis.gc(),
  burst: (worker, fields) => {
    const { live } = worker.taskSet;
    if (live || worker.goal.target)
      throw new Error(
        `${live} tasks are live; a burst needs none, and a target of 0`,
      );
    if (fields.chunks > 1 || fields.older > 0 || fields.read_after != null)
      throw new Error(
        "a burst here has one part, none that are older, and no reading",
      );
    worker.startBurst(whole(fields, "tasks", MOST_TASKS));
  },
};

/** Apply a command to `worker`, or refuse it. */
export function apply(worker, fields) {
  const arrived = now();
  const type = fields.type.slice(0, 60);
  try {
    if (type === "stop") process.exit(0);
    if (!Object.hasOwn(COMMANDS, type)) {
      const known = [...Object.keys(COMMANDS), "stop"].join(", ");
      throw new Error(`unknown command "${type}"; expected one of ${known}`);
    }
    COMMANDS[type](worker, fields, arrived);
    if (type !== "target")
      send("applied", { command: type, seconds: now() - arrived });
  } catch (error) {
    refuse(type, error.message);
  }
  worker.check();
}
