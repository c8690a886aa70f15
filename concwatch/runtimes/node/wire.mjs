/** The wire: JSON, one message a line. */
const LONGEST_LINE = 1 << 20;
const BACKLOG = 1 << 16; // unsent bytes above which ticks are skipped

// What a task prints must not get between the reports.
globalThis.console = new console.Console(process.stderr);

// Not `writeSync`: without a reader it would block the only thread, and the end of the input would go unnoticed.
process.stdout.on("error", () => process.exit(0)); // the reader is gone

export function send(type, fields) {
  process.stdout.write(JSON.stringify({ type, ...fields }) + "\n");
}

export function isBacklogged() {
  return process.stdout.writableLength > BACKLOG;
}

export function refuse(command, message, detail = null) {
  const line = message.replace(/\s+/g, " ").slice(0, 1000);
  send("error", { command, message: line, detail });
}

/** Call `take` with the fields of every command; exit the process when the input ends. */
export function listen(take) {
  let rest = "";
  let inside = false; // whether the next piece belongs to a line that was too long

  const takeLine = (line) => {
    if (inside || !line.trim()) return;
    const fields = parse(line);
    if (fields) take(fields);
    else
      refuse(
        null,
        `"${line.slice(0, 60)}" is not a command; expected one flat JSON object`,
      );
  };

  process.stdin.setEncoding("utf8");
  process.stdin.on("data", (text) => {
    const lines = (rest + text).split("\n");
    rest = lines.pop();
    for (const line of lines) {
      takeLine(line);
      inside = false;
    }
    if (rest.length > LONGEST_LINE) {
      takeLine(rest.slice(0, LONGEST_LINE));
      inside = true;
      rest = "";
    }
  });
  process.stdin.on("end", () => {
    takeLine(rest);
    process.exit(0);
  });
}

/** The fields of a command, or nothing if the line is not one. */
function parse(line) {
  if (line.length > LONGEST_LINE) return undefined;
  try {
    const fields = JSON.parse(line);
    const isFlat = Object.values(fields).every(
      (value) => value === null || typeof value !== "object",
    );
    return isFlat && typeof fields.type === "string" ? fields : undefined;
  } catch {
    return undefined;
  }
}
