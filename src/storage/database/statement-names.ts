/** Of one session: each plan that is kept takes memory of the server. */
export const KEPT_MAX = 500;
/** Texts whose names are remembered: those that were asked for last. */
const NAMES_MAX = 1000;
/** Longer ones are made for one occasion. */
const TEXT_CHARS_MAX = 8_000;
/** A plan of these fails for good when a migration adds a column while it is kept. Those of a function are in the text. */
const ALL_COLUMNS = /(select|returning)\s+("?\w+"?\.)?\*(?!\s+from\s+(json_to_recordset|unnest)\()/i;

const names = new Map<string, string>();
let made = 0;

/** The name of a statement: the same in every session of the process, and never that of another one. Undefined: it has none. */
export function statementName(text: string): string | undefined {
  const known = names.get(text);
  if (known === undefined && (text.length > TEXT_CHARS_MAX || ALL_COLUMNS.test(text))) return undefined;
  const name = known ?? `holdfast_${made++}`;
  // In the order in which they were asked for last.
  names.delete(text);
  names.set(text, name);
  const [oldest] = names.keys();
  if (names.size > NAMES_MAX && oldest !== undefined) names.delete(oldest);
  return name;
}
