import { type ErrorView, HoldfastError } from '../src/core/errors.js';
import { beginAttempt, endAttempt } from '../src/storage/export-attempts.js';
import type { World } from './world.js';

/**
 * Works on a piece of an export unless as many processes have died with it as may with a run. What holds or ends its process would
 * do so again in each worker that goes on.
 */
export async function attempted<T>(
  { knex, worker, crashLimit }: World,
  id: string,
  piece: string,
  work: () => Promise<T>,
): Promise<T | { readonly type: 'failed'; readonly error: ErrorView }> {
  const deaths = await beginAttempt(knex, id, piece, worker);
  if (deaths >= crashLimit) {
    await endAttempt(knex, id, worker);
    return { type: 'failed', error: diedWith(piece, deaths).view() };
  }
  try {
    return await work();
  } finally {
    // A note that stays, since the database is away, counts as one death.
    await endAttempt(knex, id, worker).catch(() => undefined);
  }
}

const diedWith = (piece: string, deaths: number): HoldfastError =>
  new HoldfastError('export_crashes', `${deaths} times a worker died with the export at "${piece}".`);
