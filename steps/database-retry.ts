import type { Knex } from 'knex';
import pRetry, { AbortError } from 'p-retry';
import { databaseTrouble } from '../src/storage/database/database-trouble.js';

/** Whether an error is one of a database that is away or full, and not of what was asked. */
export const isTransient = (error: unknown): boolean => databaseTrouble(error) !== null;

/**
 * Does something with the database, and again for as long as the database is away or full: what is written here is idempotent, and no run
 * fails because of its database. Pauses grow to five seconds. What does not pass is thrown at once, and so is what a closed pool says.
 */
export async function withDatabaseRetry<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!isTransient(error)) throw error;
  }
  return untilItPasses(work);
}

function untilItPasses<T>(work: () => Promise<T>): Promise<T> {
  return pRetry(
    async () => {
      try {
        return await work();
      } catch (error) {
        throw isTransient(error) || !(error instanceof Error) ? error : new AbortError(error);
      }
    },
    {
      retries: Number.POSITIVE_INFINITY,
      minTimeout: 50,
      maxTimeout: 5000,
      factor: 2,
      randomize: true,
    },
  );
}

/** A transaction of ours, made again when it could not be made. */
export const transact = <T>(ctx: { readonly knex: Knex }, work: (trx: Knex.Transaction) => Promise<T>): Promise<T> =>
  withDatabaseRetry(() => ctx.knex.transaction(work));
