import { counted } from '../../../steps/exports/counted-work.js';
import { hasDied } from '../../storage/queue/work-notes.js';
import type { EngineContext } from '../engine-context.js';
import { chore, ofAll } from '../workers/chore.js';
import type { Apart } from './anchor.js';

const TOGETHER = ofAll('sign');

/**
 * Enters and signs what runs have done. Runs are entered together, unless a process died with that lately: then each by itself, so that
 * the one that is to blame is left out, and the others are signed. Throws `work_crashes` where processes died with signing itself.
 */
export async function signLog(context: EngineContext, sign: (apart: Apart | null) => Promise<void>): Promise<void> {
  const { stepContext } = context;
  if (!(await hasDied(stepContext.knex, TOGETHER))) return counted(stepContext, TOGETHER, () => sign(null));
  await sign({
    enter: (runId, work) => chore(context, ofAll(`enter ${runId}`), work),
    sign: (work) => counted(stepContext, ofAll('sign what was entered'), work),
  });
}

/** Before the process ends. What fails is done by the next one. */
export const signAtEnd = (context: EngineContext): Promise<void> =>
  signLog(context, (apart) => context.anchor.last(apart)).catch((error: unknown) =>
    context.log.warn(
      { component: 'evidence', event: 'not_signed_at_end', error: String(error) },
      'the log of all runs was not signed at the end',
    ),
  );
