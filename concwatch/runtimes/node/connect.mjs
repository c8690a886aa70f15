import { createConnection } from "node:net";
import { whole } from "./fields.mjs";

const MOST_ADDRESSES = 254;
const LINE = "ping\n";

/** The port of the server that tasks of a workload connect to. */
function portOf({ spec, url }) {
  const found = /^tcp:\/\/127\.0\.0\.1:(\d{1,5})$/.exec(url);
  const port = Number(found?.[1]);
  if (port > 0 && port < 1 << 16) return port;
  throw new Error(
    `workload "${String(spec).slice(0, 60)}" needs a "url" to connect to; expected tcp://127.0.0.1:PORT`,
  );
}

/** Return a function that returns the addresses of the server in turn. */
function hostsOf(fields) {
  const given = whole({ addresses: 1, ...fields }, "addresses", MOST_ADDRESSES);
  const count = Math.max(1, given);
  let next = 0;
  return () => `127.0.0.${1 + (next++ % count)}`;
}

/**
 * Return an async function that holds one connection until it ends; it sends a line and reads it back, again
 * after every `interval` milliseconds unless that is undefined. Node.js itself raises the soft limit on open files.
 */
export function connecting(fields, interval) {
  const port = portOf(fields);
  const nextHost = hostsOf(fields);
  return async (task) => {
    const socket = createConnection(port, nextHost());
    let timer;
    let left;
    const send = () => {
      left = LINE.length;
      socket.write(LINE);
    };
    try {
      await task.until((_, reject) => {
        socket.on("connect", send);
        socket.on("data", ({ length }) => {
          left -= length;
          if (left === 0 && interval !== undefined)
            timer = setTimeout(send, interval);
        });
        socket.on("error", reject);
        socket.on("close", () =>
          reject(new Error("the server closed the connection")),
        );
      });
    } finally {
      clearTimeout(timer);
      socket.destroy();
    }
  };
}
