import { putOffChore } from '../../storage/database/chores.js';
import { packNext } from '../../storage/log/packed-events.js';
import type { EngineContext } from '../engine-context.js';
import { hourlyChore, TAKEN_MS } from './hourly-chore.js';

const CHORE = 'pack';
const RUNS_AT_ONCE = 20;
const DAY_MS = 86_400_000;

/** Packs the logs of runs that were over long enough, whenever it is due, one worker at a time and in small transactions. */
export async function packLogs(context: EngineContext, isStopping: () => boolean): Promise<void> {
  const { packLogsDays: days } = context.retention;
  if (days === null) return;
  await hourlyChore(context, { chore: CHORE, name: 'packing of logs', isStopping }, async () => {
    const { knex } = context.stepContext;
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
}
