import { namedTrouble } from '../storage/database/database-trouble.js';
import { inOneRequest } from './engine-context.js';

type Method = (...args: unknown[]) => unknown;

/**
 * The same object, whose methods throw errors of the table in place of what the driver of the database throws: also by their promises,
 * and while someone reads what they stream. Each call is a request, or a part of the one that makes it.
 */
export const withNamedErrors = <T extends object>(verbs: T): T =>
  new Proxy(verbs, {
    get: (target, key) => {
      const value: unknown = Reflect.get(target, key);
      if (typeof value !== 'function') return value;
      return (...args: unknown[]) => named(() => Reflect.apply(value as Method, target, args));
    },
  });

function named(work: () => unknown): unknown {
  try {
    const result = inOneRequest(work);
    if (result instanceof Promise) return result.catch(rethrow);
    return isIterable(result) ? namedIterable(result) : result;
  } catch (error) {
    return rethrow(error);
  }
}

const rethrow = (error: unknown): never => {
  throw namedTrouble(error) ?? error;
};

const isIterable = (value: unknown): value is AsyncIterable<unknown> =>
  typeof value === 'object' && value !== null && Symbol.asyncIterator in value;

const namedIterable = (stream: AsyncIterable<unknown>): AsyncIterable<unknown> => ({
  [Symbol.asyncIterator]: () => withNamedErrors(stream[Symbol.asyncIterator]()),
});
