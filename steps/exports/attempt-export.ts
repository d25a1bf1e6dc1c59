import { type ErrorView, HoldfastError } from '../../src/core/errors/errors.js';
import type { StepContext } from '../context.js';
import { counted } from './counted-work.js';

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
