import { type ErrorView, HoldfastError } from '../../src/core/errors/errors.js';
import { databaseTrouble } from '../../src/storage/database/database-trouble.js';
import { beginWork, endWork, type NamedWork, setWorkAside } from '../../src/storage/queue/work-notes.js';
import type { StepContext } from '../context.js';

const NAME_CHARS = 300;

/**
 * Does something beside the runs that may take the process with it, unless as many processes have died with it as may with a run. That it
 * begins is committed before; its end, however it ends, and a process that leaves by itself, take that away. Throws `work_crashes`.
 */
export async function counted<T>(ctx: StepContext, { tenant, name }: NamedWork, work: () => Promise<T>): Promise<T> {
  const { knex, worker, crashLimit } = ctx;
  const of = { tenant, name: name.slice(0, NAME_CHARS).toWellFormed().replaceAll('\0', '') };
  const begun = await beginWork(knex, of, worker).catch((error: unknown) => {
    // What only reads goes on where nothing can be written; what writes finds out by itself.
    const trouble = databaseTrouble(error);
    if (trouble === 'full' || trouble === 'read_only') return null;
    throw error;
  });
  if (begun === null) return work();
  if (begun.deaths >= crashLimit) {
    await knex.transaction((trx) => setWorkAside(trx, of, begun));
    throw new HoldfastError('work_crashes', `${begun.deaths} times a process died with this: ${of.name}.`, {
      hint: 'Find out what ends the process, such as memory. It may be tried again a day after the last death, or at once when `holdfast work --lift` forgets the deaths, or with a greater HOLDFAST_CRASH_LIMIT.',
    });
  }
  try {
    return await work();
  } finally {
    // A note that stays, since the database is away, counts as one death.
    await endWork(knex, of, begun.note).catch(() => undefined);
  }
}

/**
 * Works on a piece of an export unless as many processes have died with it as may with a run. What holds or ends its process would
 * do so again in each worker that goes on.
 */
export async function attempted<T>(
  ctx: StepContext,
  id: string,
  piece: string,
  work: () => Promise<T>,
): Promise<T | { readonly type: 'failed'; readonly error: ErrorView }> {
  try {
    return await counted(ctx, { tenant: 'default', name: `export ${id} ${piece}` }, work);
  } catch (error) {
    if (!(error instanceof HoldfastError && error.code === 'work_crashes')) throw error;
    const message = `${ctx.crashLimit} times a worker died with the export at "${piece}".`;
    return { type: 'failed', error: new HoldfastError('export_crashes', message).view() };
  }
}
