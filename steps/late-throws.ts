import { AsyncLocalStorage } from 'node:async_hooks';
import { inspect } from 'node:util';
import { beginSpan, type CodeOfRun, type CodeSpan, endSpan } from './code-at-work.js';

/** Code of a run that can be told what it threw after nobody waited for it. */
interface Owner extends CodeOfRun {
  /** False: it has ended, and how it ended stands. */
  readonly fail: (error: LateThrow) => boolean;
}

const owners = new AsyncLocalStorage<Owner>();

/** What code threw outside of the promise that its caller waits for: in a timer, in an event, in a promise that nobody awaits. */
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

/** Runs `work`. Rejects with a `LateThrow` when it throws late before it has ended: its own promise might never settle then. */
export async function catchingLate<T>(code: CodeOfRun, work: () => T): Promise<Awaited<T>> {
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
    try {
      return await timed(span, work);
    } finally {
      endSpan(span);
    }
  };
  try {
    const done = owningThrows({ ...code, fail }, whole);
    return await Promise.race([done, late]);
  } finally {
    atWork = false;
  }
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

/** The message of what was thrown, whatever that is. Throws nothing. */
export function textOf(thrown: unknown): string {
  try {
    if (thrown instanceof Error) return thrown.message;
    return isPlain(thrown) ? inspect(thrown, SHOWN) : String(thrown);
  } catch {
    return `a value of type ${typeof thrown} without a text`;
  }
}
