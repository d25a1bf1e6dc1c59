import { setTimeout as sleep } from 'node:timers/promises';
import type { z } from 'zod';
import { HoldfastError } from '../core/errors/errors.js';
import type { StoreAnswer } from './plain-request.js';

/** What answers of a Hub mean that are no success, and how long they are waited for. */
export class HubFailure extends Error {
  readonly failure: HoldfastError;
  /** Another answer may come later. */
  readonly passes: boolean;
  /** For so long the Hub wants no request. */
  readonly afterMs: number;
  /** The token was refused. */
  readonly isToken: boolean;

  constructor(failure: HoldfastError, { passes = false, afterMs = 0, isToken = false } = {}) {
    super(failure.message);
    this.failure = failure;
    this.passes = passes;
    this.afterMs = afterMs;
    this.isToken = isToken;
  }
}

/** Of what a Hub says the code alone is repeated: a word of letters. */
export function hubCodeOf({ headers }: Pick<StoreAnswer, 'headers'>): string | null {
  const code = headers['x-error-code'];
  return typeof code === 'string' && /^[A-Za-z]{1,64}$/.test(code) ? code : null;
}

/** `what` is for messages: `hf://datasets/owner/name at https://endpoint`. */
export function hubFailureOf(answer: StoreAnswer, what: string): HubFailure {
  const { status } = answer;
  const code = hubCodeOf(answer);
  const said = code === null ? `answered ${status}` : `answered ${status} ${code}`;
  if (status === 401 || status === 403)
    return new HubFailure(new HoldfastError('hub_denied', `The Hub of ${what} ${said}.`), { isToken: true });
  const afterMs = restMs(answer);
  // 409: the Hub is at work with another request.
  if ((status >= 500 && status !== 501) || status === 429 || status === 408 || status === 409)
    return new HubFailure(new HoldfastError('hub_unreachable', `The Hub of ${what} ${said}.`), {
      ...{ passes: true, afterMs },
    });
  const moved = status >= 300 && status < 400 ? ' The repository may have another name now.' : '';
  return new HubFailure(new HoldfastError('hub_failed', `The Hub of ${what} ${said}.${moved}`));
}

/** `Retry-After`, in seconds or as a date, or `RateLimit` as `"api";r=0;t=55`: https://datatracker.ietf.org/doc/draft-ietf-httpapi-ratelimit-headers/ */
function restMs({ headers }: StoreAnswer): number {
  const { 'retry-after': after, ratelimit } = headers;
  const limit = typeof ratelimit === 'string' ? /;r=0;t=(\d{1,6})(?:$|[;,])/.exec(ratelimit)?.[1] : undefined;
  const until = after !== undefined && /[A-Za-z]/.test(after) ? Date.parse(after) : Number.NaN;
  if (!Number.isNaN(until)) return Math.max(0, until - Date.now());
  const seconds = after !== undefined && /^\d{1,6}$/.test(after) ? after : limit;
  return Number(seconds ?? 0) * 1000;
}

/** A connection that could not be made, or broke. */
export function brokenHub(error: unknown, what: string): HubFailure {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  const why = code === '' || code === 'ABORT_ERR' ? (error instanceof Error ? error.message : String(error)) : code;
  const message = `The Hub of ${what} does not answer: ${why.slice(0, 200)}.`;
  return new HubFailure(new HoldfastError('hub_unreachable', message, { cause: error }), { passes: true });
}

/** An answer of another form than the protocol has. */
export const strangeAnswer = (what: string, why: string): HubFailure =>
  new HubFailure(new HoldfastError('hub_failed', `The Hub of ${what} does not keep to its protocol: ${why}.`));

const FIRST_MS = 200;
const LONGEST_MS = 10_000;

/** Tries until there is an answer, a failure that stays, or one that goes on for longer than `patienceMs`. */
export async function patiently<T>(patienceMs: number, attempt: () => Promise<T>): Promise<T> {
  const since = performance.now();
  for (let tried = 0; ; tried++) {
    try {
      return await attempt();
    } catch (error) {
      if (!(error instanceof HubFailure)) throw error;
      const pauseMs = Math.min(LONGEST_MS, FIRST_MS * 2 ** Math.min(tried, 10)) * (0.5 + Math.random() / 2);
      const waitMs = Math.max(error.afterMs, pauseMs);
      if (!error.passes || performance.now() - since + waitMs > patienceMs) throw error.failure;
      await sleep(waitMs);
    }
  }
}

/** Throws `HubFailure`: it is no JSON of this form. */
export function parsedAnswer<T>({ bytes }: StoreAnswer, schema: z.ZodType<T>, what: string): T {
  let value: unknown;
  try {
    value = JSON.parse(bytes.toString('utf8'));
  } catch {
    throw strangeAnswer(what, 'an answer is no JSON');
  }
  const { data, error } = schema.safeParse(value);
  if (data !== undefined) return data;
  throw strangeAnswer(what, `${error?.issues[0]?.path.join('.') || 'an answer'} is not what it should be`);
}

/** An address that the Hub names. One without TLS is none where the Hub has it. Null: it is none. */
export function addressIn(text: string, base: URL): URL | null {
  const url = URL.canParse(text, base.href) ? new URL(text, base) : null;
  if (url === null || url.username !== '' || url.password !== '') return null;
  return url.protocol === 'https:' || (url.protocol === 'http:' && base.protocol === 'http:') ? url : null;
}
