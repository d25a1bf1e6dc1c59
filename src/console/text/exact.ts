/** JSON whose numbers stay as they were written: a double cannot hold each of them. */

/** A number that a double does not hold: its text is the value. */
export class ExactNumber {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

export type Exact =
  | null
  | boolean
  | number
  | string
  | ExactNumber
  | readonly Exact[]
  | { readonly [key: string]: Exact };

const hasSource = (context: unknown): context is { readonly source: string } =>
  typeof context === 'object' && context !== null && 'source' in context && typeof context.source === 'string';

/** Parses JSON. Where the browser tells no sources of numbers, they are rounded as JavaScript rounds them. */
export function parseExact(json: string): unknown {
  return JSON.parse(json, function (this: unknown, _key: string, value: unknown, context?: unknown): unknown {
    if (typeof value !== 'number' || !hasSource(context)) return value;
    return String(value) === context.source ? value : new ExactNumber(context.source);
  });
}

/** Parses an answer of the server, whose shape its API promises. */
export const exactlyParsed = <T>(json: string): T => parseExact(json) as T;

export const isExact = (value: unknown): value is ExactNumber => value instanceof ExactNumber;

/** Writes JSON that `parseExact` reads again as the same, with line breaks and indents when `indent` is not 0. */
export function exactText(value: unknown, indent = 0, depth = 1): string {
  if (isExact(value)) return value.text;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  const [open, close] = Array.isArray(value) ? ['[', ']'] : ['{', '}'];
  const pieces = Array.isArray(value)
    ? value.map((item) => exactText(item, indent, depth + 1))
    : Object.entries(value)
        .filter(([, item]) => item !== undefined)
        .map(([key, item]) => `${JSON.stringify(key)}:${indent > 0 ? ' ' : ''}${exactText(item, indent, depth + 1)}`);
  if (pieces.length === 0) return open + close;
  if (indent === 0) return open + pieces.join(',') + close;
  const line = `\n${' '.repeat(indent * depth)}`;
  return `${open}${line}${pieces.join(`,${line}`)}\n${' '.repeat(indent * (depth - 1))}${close}`;
}

/** The beginning of a value in a line: a text as it is, nothing for null, all else as JSON. */
export const lineOf = (value: unknown, longest: number): string =>
  (typeof value === 'string' ? value : value === null ? '' : exactText(value)).slice(0, longest).toWellFormed();
