// As published: N promises of ten-second timers.
import util from "node:util";

const numTasks = Number(process.argv[2]);
const delay = util.promisify(setTimeout);
const tasks = [];

for (let i = 0; i < numTasks; i++) {
    tasks.push(delay(10000));
}

await Promise.all(tasks);
