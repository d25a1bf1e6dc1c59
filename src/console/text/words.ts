/** How durations, ids and counts are written. Times and money stay as the server gives them. */

const UNITS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1000],
] as const;

/** `0.42 s`, `12.3 s`, `3 min 05 s`, `2 h 14 min`, `3 d 4 h`: two units at most. */
export function durationText(ms: number): string {
  // Cut, not rounded: 59.99 s are no minute.
  if (ms < 10_000) return `${(Math.floor(ms / 10) / 100).toFixed(2)} s`;
  if (ms < 60_000) return `${(Math.floor(ms / 100) / 10).toFixed(1)} s`;
  const at = UNITS.findIndex(([, size]) => ms >= size);
  const [unit, size] = UNITS[at] ?? ['s', 1000];
  const [small, smaller] = UNITS[at + 1] ?? ['s', 1000];
  const rest = Math.floor((ms % size) / smaller);
  const padded = small === 's' ? String(rest).padStart(2, '0') : String(rest);
  return `${Math.floor(ms / size)} ${unit} ${padded} ${small}`;
}

/** `run_0123ab…cdef`: kind, six, four. A short id stays whole. */
export function shortId(id: string): string {
  const [kind, rest] = id.includes('_') ? [id.slice(0, id.indexOf('_') + 1), id.slice(id.indexOf('_') + 1)] : ['', id];
  return rest.length <= 12 ? id : `${kind}${rest.slice(0, 6)}…${rest.slice(-4)}`;
}

export const countText = (count: number): string => count.toLocaleString('en');

/** Money of the API, as it is; with four significant digits where columns are narrow. */
export function usdText(usd: string | null, digits?: number): string {
  if (usd === null) return 'unpriced';
  if (/^0(\.0*)?$/.test(usd)) return '$0';
  if (digits === undefined) return `$${usd}`;
  const cut = /^(\d+)\.(0*)(\d+)$/.exec(usd);
  if (cut === null) return `$${usd}`;
  const [, whole = '0', zeros = '', figures = ''] = cut;
  const places = whole === '0' ? zeros.length + digits : Math.max(2, digits - whole.length);
  const rest = (zeros + figures).slice(0, places).replace(/0+$/, '');
  return `$${whole}${rest === '' ? '' : `.${rest}`}`;
}

/** A sum of dollars that was rounded already: cents from a dollar on, three digits below. */
export const dollarsText = (dollars: number): string =>
  `$${dollars.toLocaleString('en', dollars < 1 ? { maximumSignificantDigits: 3 } : { maximumFractionDigits: 2 })}`;

/** `12 min ago`, `in 2 h 14 min`. */
export function relativeText(at: number, now: number): string {
  const ms = Math.abs(at - now);
  if (ms < 5000) return 'now';
  const text = ms < 60_000 ? `${Math.floor(ms / 1000)} s` : durationText(ms).replace(/ \d+ s$/, '');
  return at > now ? `in ${text}` : `${text} ago`;
}
