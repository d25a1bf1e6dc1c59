import { isRecord } from '../../core/json.js';

/** Reads errors of any library by their shape: names, codes, statuses and causes. */

export function textOf(item: unknown, key: string): string | null {
  const value = isRecord(item) ? item[key] : undefined;
  return typeof value === 'string' ? value : null;
}

/** The error, its causes, and of an AggregateError its first error: outermost first. */
export function causesOf(error: unknown): readonly unknown[] {
  const chain: unknown[] = [];
  let next: unknown = error;
  while (next !== undefined && next !== null && chain.length < 8 && !chain.includes(next)) {
    chain.push(next);
    if (!isRecord(next)) break;
    const errors: unknown = next['errors'];
    next = next['cause'] ?? (Array.isArray(errors) ? errors[0] : undefined);
  }
  return chain;
}

const TIMEOUT_NAMES = new Set(['TimeoutError', 'ModelTimeoutError', 'APIConnectionTimeoutError']);
const ABORT_NAMES = new Set(['AbortError', 'APIUserAbortError']);
const NETWORK_NAMES = new Set(['APIConnectionError', 'FetchError']);
const NETWORK_CODES = new Set([
  'EAI_AGAIN',
  'ECONNABORTED',
  'ECONNREFUSED',
  'ECONNRESET',
  'EHOSTUNREACH',
  'ENETDOWN',
  'ENETUNREACH',
  'ENOTFOUND',
  'EPIPE',
  'ETIMEDOUT',
]);
const NETWORK_TEXT = /fetch failed|terminated|socket hang up|other side closed|premature close|connection error/i;

/** The `openai` package leaves `name` at "Error": its classes are known by their constructor. */
function isNamed(item: unknown, names: ReadonlySet<string>): boolean {
  if (!isRecord(item)) return false;
  return names.has(textOf(item, 'name') ?? '') || names.has(constructorName(item));
}

const constructorName = (item: object): string => (typeof item.constructor === 'function' ? item.constructor.name : '');

export const isAbort = (item: unknown): boolean => isNamed(item, ABORT_NAMES) || textOf(item, 'code') === 'ABORT_ERR';

export const isTimeout = (item: unknown): boolean =>
  isNamed(item, TIMEOUT_NAMES) || /^(?:ETIMEDOUT|UND_ERR_\w*TIMEOUT)$/.test(textOf(item, 'code') ?? '');

export function isNetwork(item: unknown): boolean {
  const code = textOf(item, 'code') ?? '';
  if (NETWORK_CODES.has(code) || /^(?:UND_ERR_|HPE_)/.test(code)) return true;
  return isNamed(item, NETWORK_NAMES) || (item instanceof TypeError && NETWORK_TEXT.test(item.message));
}

const UNREACHED_CODES = new Set(['EAI_AGAIN', 'ECONNREFUSED', 'EHOSTUNREACH', 'ENETUNREACH', 'ENOTFOUND']);

/** Whether nothing was sent, because there was no connection. */
export const isUnreached = (item: unknown): boolean =>
  UNREACHED_CODES.has(textOf(item, 'code') ?? '') || textOf(item, 'code') === 'UND_ERR_CONNECT_TIMEOUT';

/** The HTTP status of an error answer; some providers give it as a code of an error inside an answer that began well. */
export function statusOf(item: unknown): number | null {
  if (!isRecord(item)) return null;
  for (const key of ['status', 'statusCode', 'status_code', 'code']) {
    const value = item[key];
    if (typeof value === 'number' && value >= 400 && value <= 599) return value;
  }
  return null;
}
