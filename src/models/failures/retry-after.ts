const LONGEST_MS = 24 * 60 * 60 * 1000;

/**
 * What a server asks a caller to wait, in milliseconds, at most a day: `retry-after-ms` (OpenAI), or `Retry-After` in
 * seconds or as a date (RFC 9110, 10.2.3). Null: nothing understandable was said.
 */
export function retryAfterMs(headers: Headers, now: number): number | null {
  const exact = amount(headers.get('retry-after-ms'));
  if (exact !== null) return bounded(exact);
  const text = headers.get('retry-after');
  const seconds = amount(text);
  if (seconds !== null) return bounded(seconds * 1000);
  const date = text === null ? Number.NaN : Date.parse(text);
  return Number.isNaN(date) ? null : bounded(date - now);
}

const amount = (text: string | null): number | null =>
  text !== null && /^\s*\d+(?:\.\d+)?\s*$/.test(text) ? Number(text) : null;

const bounded = (ms: number): number => Math.round(Math.min(Math.max(ms, 0), LONGEST_MS));
