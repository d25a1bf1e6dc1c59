import { queueKey, queuePriority } from '../../../src/core/queue/dispatch.js';
import { RECORDING_VERSION } from '../../../src/engine/dbos/recording-version.js';
import { SEGMENT_QUEUE } from '../../../src/engine/queue/segment-queue.js';
import { openDatabase } from '../../../src/storage/database/open-database.js';
import type { Limits } from '../../../src/storage/dbos/dequeue.js';
import { dequeue } from '../../../src/storage/dbos/dequeue.js';
import { saveLimits } from '../../../src/storage/queue/dispatch-limits.js';
import { spreadOf } from '../figures.js';
import { newPlace, query } from '../place.js';
import { startJob } from '../process.js';
import type { Row, Values } from '../row.js';

const TENANTS = 20;
const AGENTS = 5;
const PRIORITIES = 1000;
/** So many are taken by one decision. */
const ROOM = 4;
/** The short queue has enough for these, with and without limits. */
const DECISIONS = { quick: 50, full: 100 };
const WARM_UP = 20;
const NO_LIMITS = { name: '', concurrency: null, rate_runs: null, rate_per_ms: null };

const FILL = `
  insert into dbos.workflow_status
    (workflow_uuid, status, name, queue_name, created_at, updated_at, priority, queue_partition_key)
  select 'run_' || md5(n::text), 'ENQUEUED', 'holdfast.segment', $1, n, n, $2 + (n * 7919) % $3,
         't' || n % $4 || $5 || 'a' || (n / $4) % $6
    from generate_series(1, $7) n`;

/** What a dispatcher does to choose and to claim what its worker executes next, also under limits, in a long queue and in a short one. */
export const SCHEDULE: Row = {
  name: 'schedule',
  title: `choosing ${ROOM} of 100,000 queued tasks of ${TENANTS} tenants, against 1,000, PostgreSQL`,
  needsPostgres: true,
  sides: ['100000', '1000'],
  measure: async (side, scale) => {
    const place = await newPlace('postgres');
    // It makes the tables.
    const first = startJob({ side: 'holdfast', place, work: { type: 'serve', runs: 0, turns: 1 } });
    await first.line();
    await first.line();
    await first.kill();
    const separator = queueKey('', '');
    const values = [SEGMENT_QUEUE, queuePriority('new', 1), PRIORITIES, TENANTS, separator, AGENTS, Number(side)];
    await query(place.databaseUrl ?? '', FILL, values);
    await query(place.databaseUrl ?? '', 'vacuum analyze');
    const database = await openDatabase(place);
    const decide = async (limits: Limits, count: number): Promise<number[]> => {
      const taken: number[] = [];
      let served: readonly string[] = [];
      for (let n = 0; n < count; n++) {
        const wanted = { queue: SEGMENT_QUEUE, executor: 'bench', version: String(RECORDING_VERSION), served };
        const begin = performance.now();
        const { ids, tenants } = await dequeue(
          database,
          {
            ...{ ...wanted, application: 'holdfast', owner: 'bench', capacity: ROOM, after: '' },
            ...{ deferContainersMs: 0, engine: '', engineAwayMs: 0, offer: '{}' },
          },
          limits,
        );
        taken.push(performance.now() - begin);
        if (ids.length !== ROOM) throw new Error(`${ids.length} were taken instead of ${ROOM}`);
        served = [...served.filter((one) => !tenants.includes(one)), ...new Set(tenants)];
        // Most of a run's time is between being taken and its end: here it ends at once.
        await database
          .knex('dbos.workflow_status')
          .whereIn('workflow_uuid', [...ids])
          .update({ status: 'SUCCESS' });
      }
      return taken;
    };
    const figures = async (limits: Limits, name: string): Promise<Values> => {
      await decide(limits, WARM_UP);
      const sorted = (await decide(limits, DECISIONS[scale])).toSorted((a, b) => a - b);
      return {
        [`p50, ${name}`]: { value: spreadOf(sorted).median, unit: 'ms' },
        [`p95, ${name}`]: { value: sorted[Math.floor(sorted.length * 0.95)] ?? Number.NaN, unit: 'ms' },
      };
    };
    const free = await figures('none', 'no limits');
    await saveLimits(database.knex, [{ ...NO_LIMITS, kind: 'tenants', concurrency: 100 }]);
    const limited = await figures('kept', 'limits');
    await database.close();
    return { ...free, ...limited };
  },
};
