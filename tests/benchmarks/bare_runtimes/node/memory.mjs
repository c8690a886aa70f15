import { readFileSync } from "node:fs";

const PAGE = 4096;

/** Bytes of this process that are in memory, as the system says. */
export function resident() {
  const [, pages] = readFileSync("/proc/self/statm", "utf8").split(" ");
  return Number(pages) * PAGE;
}
