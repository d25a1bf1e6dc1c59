import { DBOS } from '@dbos-inc/dbos-sdk';
import { endFamily, lockFamily } from '../../steps/family.js';
import { isoNow } from '../../steps/world.js';
import { HoldfastError } from '../core/errors.js';
import { canonical } from '../core/json.js';
import { isOver } from '../core/run.js';
import { appendEvents } from '../storage/events.js';
import { updateRun } from '../storage/runs.js';
import { type StrandedRun, strandedRuns } from '../storage/stranded.js';
import type { Parts } from './parts.js';
import { workflowIdOf } from './segment-queue.js';

const AT_ONCE = 20;

/** Ends runs whose segment can never go on, by name, so that none stands still for ever. */
export async function sweep(parts: Parts): Promise<void> {
  for (const stranded of await strandedRuns(parts.world.knex, AT_ONCE)) await endStranded(parts, stranded);
}

async function endStranded(parts: Parts, stranded: StrandedRun): Promise<void> {
  const why = await reasonOf(stranded);
  const code = /was recorded (as|when)|replay/i.test(why) ? 'replay_diverged' : 'run_failed';
  const error = new HoldfastError(
    code,
    `Segment ${stranded.segment} cannot go on: ${why}`.slice(0, 4096).toWellFormed(),
  ).view();
  const { world } = parts;
  await world.knex.transaction(async (trx) => {
    const run = await lockFamily(trx, stranded.id);
    if (run === undefined || run.segment !== stranded.segment || isOver(run.status)) return;
    const draft = { key: 'end', parentKey: 'created', kind: 'run.failed', data: { error: { ...error } } } as const;
    await appendEvents(trx, run.id, [draft], { at: isoNow(world), worker: null });
    await updateRun(trx, run.id, { status: 'failed', error: canonical(error), completed_at: new Date(world.now()) });
    await endFamily(world, trx, run.id);
  });
  world.queue.wake();
  parts.log.error({ run: stranded.id, segment: stranded.segment, why }, 'a stranded run was ended');
  parts.changes.announce(stranded.id);
}

async function reasonOf(stranded: StrandedRun): Promise<string> {
  if (stranded.workflow === null) return 'its workflow does not exist';
  if (stranded.workflow !== 'ERROR') return `its workflow is ${stranded.workflow}`;
  try {
    await DBOS.retrieveWorkflow(workflowIdOf(stranded.id, stranded.segment)).getResult();
    return 'its workflow ended in an error';
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
