import { AsyncLocalStorage, AsyncResource } from 'node:async_hooks';
import { inspect } from 'node:util';

/** Code of a run that can be told what it threw after no one waited for it. */
interface Owner extends CodeOfRun {
  /** False: it has ended, and how it ended stands. */
  readonly fail: (error: LateThrow) => boolean;
}

const owners = new AsyncLocalStorage<Owner>();

/** What code threw outside of the promise that its caller waits for: in a timer, in an event, in a promise that no one awaits. */
export class LateThrow extends Error {
  constructor(thrown: unknown) {
    super(textOf(thrown), { cause: thrown });
    this.name = 'LateThrow';
  }
}

/** The code in whose asynchronous context this is; null: in none. */
export const codeAround = (): Owner | null => owners.getStore() ?? null;

/** Tells each late throw of `work` to `fail`. */
export const owningThrows = <T>(owner: Owner, work: () => T): T => owners.run(owner, work);

/**
 * Runs `work`. Rejects with a `LateThrow` when it throws late before it has ended: its own promise might never settle then. Whatever
 * `work` throws can be looked at by everybody who catches it. The signal that `work` gets fires with `source`; what its listeners throw
 * then is a late throw too.
 */
export async function catchingLate<T>(
  code: CodeOfRun,
  work: (signal: AbortSignal) => T,
  source: AbortSignal = NEVER,
): Promise<Awaited<T>> {
  let atWork = true;
  let reject: (error: LateThrow) => void = () => {};
  const late = new Promise<never>((_resolve, refuse) => {
    reject = refuse;
  });
  const fail = (error: LateThrow): boolean => {
    if (!atWork) return false;
    atWork = false;
    reject(error);
    return true;
  };
  const span = beginSpan(code);
  const whole = async (): Promise<Awaited<T>> => {
    const { signal, release } = signalHere(source);
    try {
      return await timed(span, () => work(signal));
    } finally {
      release();
      endSpan(span);
    }
  };
  try {
    const done = owningThrows({ ...code, fail }, whole);
    return await Promise.race([done, late]);
  } catch (error) {
    throw harmless(error);
  } finally {
    atWork = false;
  }
}

const NEVER = new AbortController().signal;

/** Returns a signal that fires with another one, in the asynchronous context of now. Node.js keeps the other one until `release`. */
function signalHere(source: AbortSignal): { readonly signal: AbortSignal; readonly release: () => void } {
  if (source.aborted) return { signal: source, release: () => undefined };
  const here = new AbortController();
  const fire = AsyncResource.bind(() => here.abort(source.reason));
  source.addEventListener('abort', fire, { once: true });
  return { signal: here.signal, release: () => source.removeEventListener('abort', fire) };
}

/** Notes how long the part of `work` takes that nothing else can run beside. */
function timed<T>(span: CodeSpan, work: () => T): T {
  const began = performance.now();
  try {
    return work();
  } finally {
    span.heldMs = performance.now() - began;
  }
}

/** Of an object without a text of its own, `String` says "[object Object]" and nothing else. */
const isPlain = (value: unknown): boolean =>
  typeof value === 'object' &&
  value !== null &&
  (Object.getPrototypeOf(value) === null || String(value) === Object.prototype.toString.call(value));
const SHOWN = { depth: 2, maxArrayLength: 20, maxStringLength: 1000, breakLength: Number.POSITIVE_INFINITY } as const;

/** Returns what was thrown, or an error with its text where looking at it throws: a proxy does, and an object without a text. */
function harmless(thrown: unknown): unknown {
  try {
    if (!(thrown instanceof Error)) String(thrown);
    else if (typeof thrown.message !== 'string') return new Error(textOf(thrown));
    return thrown;
  } catch {
    return new Error(textOf(thrown));
  }
}

const TEXT_MOST = 16_384;

/** Returns the message of what was thrown, whatever that is. A proxy or a getter may throw when it is looked at. Throws nothing. */
export const textOf = (thrown: unknown): string => lookedAt(thrown, (error) => error.message);

/** Returns the stack of what was thrown, or else its text. Throws nothing. */
export const stackOf = (thrown: unknown): string => lookedAt(thrown, (error) => error.stack ?? error.message);

function lookedAt(thrown: unknown, part: (error: Error) => unknown): string {
  try {
    const text = thrown instanceof Error ? part(thrown) : isPlain(thrown) ? inspect(thrown, SHOWN) : thrown;
    return String(text).slice(0, TEXT_MOST);
  } catch {
    return `a value of type ${typeof thrown} without a text`;
  }
}

/** Whose code is at work: a tool of a call, a callback of an agent, a hook. */
export interface CodeOfRun {
  /** How a reader names it: `the tool pay`. */
  readonly what: string;
  readonly runId: string;
  readonly tool: string | null;
  readonly callId: string | null;
}

/** Code while it works, and for a moment afterwards. */
export interface CodeSpan {
  readonly code: CodeOfRun;
  /** How long its beginning kept everything else from running. */
  heldMs: number;
  /** By `performance.now()`; null: it works. */
  endedAtMs: number | null;
}

const spans = new Set<CodeSpan>();
let watchers = 0;

/** Says that code begins to work. */
export function beginSpan(code: CodeOfRun): CodeSpan {
  const span: CodeSpan = { code, heldMs: 0, endedAtMs: null };
  spans.add(span);
  return span;
}

/** Says that it has ended. Where no one watches, nothing of it is kept. */
export function endSpan(span: CodeSpan): void {
  span.endedAtMs = performance.now();
  if (watchers === 0) spans.delete(span);
}

/** Keeps what has ended until the watcher has asked for it. Gives how to stop watching. */
export function watchSpans(): () => void {
  watchers++;
  return () => {
    watchers--;
    if (watchers === 0) forgetEnded(Number.POSITIVE_INFINITY);
  };
}

/** The code that has worked since then, by `performance.now()`. What had ended before is forgotten. */
export function spansSince(fromMs: number): readonly CodeSpan[] {
  forgetEnded(fromMs);
  return [...spans];
}

function forgetEnded(beforeMs: number): void {
  for (const span of spans) if (span.endedAtMs !== null && span.endedAtMs < beforeMs) spans.delete(span);
}
