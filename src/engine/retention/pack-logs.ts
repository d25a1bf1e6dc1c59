import { putOffChore, takeChore } from '../../storage/database/chores.js';
import { packNext } from '../../storage/log/packed-events.js';
import { maintenanceWork, ofAll } from '../concurrency/repeated-work.js';
import type { EngineContext } from '../engine-context.js';

const CHORE = 'pack';
const EVERY_MS = 3_600_000;
/** For so long a worker has the chore: one that dies with it holds it up no longer. */
const TAKEN_MS = 60_000;
const RUNS_AT_ONCE = 20;
const DAY_MS = 86_400_000;

/** Packs the logs of runs that were over long enough, whenever it is due, one worker at a time and in small transactions. */
export async function packLogs(context: EngineContext, isStopping: () => boolean): Promise<void> {
  const { packLogsDays: days } = context.retention;
  const { knex } = context.stepContext;
  if (days === null || !(await takeChore(knex, CHORE, TAKEN_MS))) return;
  await maintenanceWork(context, ofAll('packing of logs'), async () => {
    let runs = 0;
    let events = 0;
    for (let more = true; more && !isStopping(); ) {
      const packed = await packNext(knex, days * DAY_MS, RUNS_AT_ONCE);
      runs += packed.runs;
      events += packed.events;
      more = packed.more;
      await putOffChore(knex, CHORE, TAKEN_MS);
    }
    if (runs > 0)
      context.log.info(
        { component: 'retention', event: 'logs_packed', runs, events },
        'events of runs that were over long ago were packed',
      );
  });
  await putOffChore(knex, CHORE, isStopping() ? 0 : EVERY_MS);
}
