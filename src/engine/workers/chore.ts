import { counted } from '../../../steps/exports/counted-work.js';
import { HoldfastError } from '../../core/errors/errors.js';
import type { NamedWork } from '../../storage/queue/work-notes.js';
import type { EngineContext } from '../engine-context.js';

/** What a worker does by itself and on behalf of all tenants. */
export const ofAll = (name: string): NamedWork => ({ tenant: 'default', name });

/** Does a chore of a worker, unless processes died with it too often: then it is left out. False: it was. */
export const chore = (context: EngineContext, of: NamedWork, work: () => Promise<unknown>): Promise<boolean> =>
  leftOut(context, of.name, () => counted(context.stepContext, of, work));

/** The same for work that counts by itself what it is made of. */
export async function leftOut({ log }: EngineContext, name: string, work: () => Promise<unknown>): Promise<boolean> {
  try {
    await work();
    return true;
  } catch (error) {
    if (!(error instanceof HoldfastError && error.code === 'work_crashes')) throw error;
    log.debug({ component: 'worker', event: 'work_left_out', work: name }, error.message);
    return false;
  }
}
