// A worker of concwatch whose tasks are async functions. It speaks the wire that concwatch/portable/protocol/wire.py specifies.
import { apply } from "./commands.mjs";
import { listen, send } from "./wire.mjs";
import { Worker } from "./worker.mjs";
import { ENGINES, wordsOf } from "./workload.mjs";

const engine = process.argv[2];
if (!Object.hasOwn(ENGINES, engine)) {
  const known = Object.keys(ENGINES).join(", ");
  console.error(`unknown engine "${engine}"; expected one of ${known}`);
  process.exit(2);
}

const worker = new Worker(engine);
send("ready", {
  protocol: 1,
  engine,
  runtime: `Node.js ${process.versions.node}`,
  flags: [`V8 ${process.versions.v8}`, ...process.execArgv],
  pid: process.pid,
  can: ["trim", "burst"],
  workloads: wordsOf(engine),
});
listen((fields) => apply(worker, fields));
