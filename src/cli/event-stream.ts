import { z } from 'zod';
import { readMessages } from '../client/messages.js';
import { HoldfastError, isErrorCode } from '../core/errors/errors.js';
import { type RunDelta, runDelta } from '../core/log/delta.js';
import { type RunEvent, runEvent } from '../core/log/event.js';
import { shownAddress, withoutSecretPatterns } from '../core/secrets/secret-patterns.js';

const problem = z.object({
  code: z.string(),
  detail: z.string(),
  hint: z.string(),
  errors: z.array(z.object({ pointer: z.string(), detail: z.string() })).default([]),
});

/** Nothing that is a server of Holdfast answers, or it stopped in the middle of an answer: one that restarts, perhaps. */
export class ServerAway extends HoldfastError {
  constructor(url: string, cause: unknown) {
    const inner = cause instanceof Error && cause.cause instanceof Error ? cause.cause : cause;
    const why = inner instanceof Error ? ('code' in inner ? String(inner.code) : inner.message) : String(inner);
    super('server_unreachable', `No server answers at ${shownAddress(url)} (${withoutSecretPatterns(why)}).`, {
      cause,
    });
  }
}

/** What a proxy answers when the server behind it does not. */
const PROXY_STATUSES: readonly number[] = [502, 503, 504];

/** The error that a server answered with. */
export function errorOfAnswer(url: string, status: number, body: unknown): HoldfastError {
  const parsed = problem.safeParse(body);
  if (!parsed.success || !isErrorCode(parsed.data.code)) return unlikeOurs(url, status);
  const { code, detail, hint, errors } = parsed.data;
  const others = errors.slice(1).map((field) => `${field.pointer}: ${field.detail}`);
  return new HoldfastError(code, [detail, ...others].join('; '), { hint: hintOf(code, hint), fields: errors });
}

/** What the HTTP hint says for a client in general, said for this one. */
const hintOf = (code: string, hint: string): string =>
  code === 'unauthenticated' ? 'Set HOLDFAST_TOKEN, or HOLDFAST_DATA_DIR to the data directory of that server.' : hint;

export const notHoldfast = (url: string, what: string): HoldfastError =>
  new HoldfastError(
    'server_unreachable',
    `What answers at ${shownAddress(url)} is not Holdfast, or of another version (${what}).`,
  );

/** An answer without a body that the server would send. */
export const unlikeOurs = (url: string, status: number): HoldfastError =>
  PROXY_STATUSES.includes(status)
    ? new ServerAway(url, `status ${status} of a proxy`)
    : notHoldfast(url, `status ${status}`);

/**
 * Reads the events of a run, and the deltas that the server sends between them, from server-sent events. Returns at the message `end`; throws `server_unreachable` when the
 * connection ends before it.
 */
export async function* readStream(
  url: string,
  body: ReadableStream<Uint8Array>,
): AsyncGenerator<RunEvent | RunDelta, void> {
  for await (const message of readMessages(body, (cause) => new ServerAway(url, cause))) yield itemOf(url, message);
}

function itemOf(
  url: string,
  { event: name = '', data }: { readonly event?: string | undefined; readonly data: string },
): RunEvent | RunDelta {
  let json: unknown;
  try {
    json = JSON.parse(data);
  } catch {
    throw notHoldfast(url, 'an event that is not JSON');
  }
  const parsed = (/^deltas?\b/.test(name) ? runDelta : runEvent).safeParse(json);
  if (parsed.success) return parsed.data;
  throw notHoldfast(url, 'an event of another shape');
}
