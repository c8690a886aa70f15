/** The fields of a command, checked: each returns its value, or throws an Error with one line for the user. */

function wrong(key, value, expected) {
  const shown = JSON.stringify(value) ?? "missing";
  return new Error(`"${key}" is ${shown.slice(0, 60)}; expected ${expected}`);
}

export function whole(fields, key, most) {
  const value = fields[key];
  if (Number.isInteger(value) && value >= 0 && value <= most) return value;
  const limit = most.toLocaleString("en");
  throw wrong(key, value, `a whole number from 0 to ${limit}`);
}

export function number(fields, key, least, most, what) {
  const value = fields[key];
  if (typeof value === "number" && value >= least && value <= most)
    return value;
  const [from, to] = [least, most].map((end) => end.toLocaleString("en"));
  throw wrong(key, value, `${what} from ${from} to ${to}`);
}

export function positive(fields, key, most, what) {
  const value = fields[key];
  if (typeof value === "number" && value > 0 && value <= most) return value;
  const limit = most.toLocaleString("en");
  throw wrong(key, value, `${what} above 0, up to ${limit}`);
}

export function flag(fields, key) {
  const value = fields[key];
  if (typeof value === "boolean") return value;
  throw wrong(key, value, "true or false");
}

export function word(fields, key) {
  const value = fields[key];
  if (typeof value === "string") return value;
  throw wrong(key, value, "a string");
}
