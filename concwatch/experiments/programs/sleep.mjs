// As published: so many promises of a timer of ten seconds.
import util from "node:util";

const numTasks = Number(process.argv[2]);
const delay = util.promisify(setTimeout);
const tasks = [];

for (let i = 0; i < numTasks; i++) {
    tasks.push(delay(10000));
}

await Promise.all(tasks);
