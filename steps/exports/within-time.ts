import { type Context, createContext, Script } from 'node:vm';
import { HoldfastError } from '../../src/core/errors/errors.js';

let held: { readonly script: Script; readonly context: Context } | null = null;

/**
 * Does something that holds the process, and ends it when it takes too long: of all code only this stops an expression that
 * somebody else wrote. `leftMs` of the `timeoutMs` are left. Throws `export_too_slow`.
 */
export function withinTime<T>(leftMs: number, timeoutMs: number, what: string, work: () => T): T {
  let result: { readonly value: T } | undefined;
  held ??= { script: new Script('work()'), context: createContext({}) };
  const { script, context } = held;
  Object.assign(context, {
    work: () => {
      result = { value: work() };
    },
  });
  try {
    if (leftMs > 0) script.runInContext(context, { timeout: Math.ceil(leftMs) });
  } catch (error) {
    // It is an error of another realm.
    const code: unknown = Reflect.get(Object(error), 'code');
    if (code !== 'ERR_SCRIPT_EXECUTION_TIMEOUT') throw error;
  }
  if (result === undefined) throw new HoldfastError('export_too_slow', `${what} took longer than ${timeoutMs} ms.`);
  return result.value;
}
