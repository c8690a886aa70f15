import { readFileSync } from "node:fs";

const PAGE = 4096;

/** Resident bytes of this process, from the system. */
export function resident() {
  const [, pages] = readFileSync("/proc/self/statm", "utf8").split(" ");
  return Number(pages) * PAGE;
}
