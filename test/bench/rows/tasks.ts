import { join } from 'node:path';
import { WAKE_CHANNEL } from '../../../src/engine/queue/segment-queue.js';
import { newPlace, type Place, query } from '../place.js';
import { type Started, startProcess } from '../process.js';
import type { Row } from '../row.js';
import type { TasksJob } from '../tasks-child.js';

const CHILD = join(import.meta.dirname, '..', 'tasks-child.js');
const TASKS = { quick: 300, full: 1000 };
const WORKERS = 3;
const PLACES = 20;
const LOOK_MS = 20;
/** Where what is queued stands until all workers are there. */
const ASIDE = 'aside';

const OVER: { readonly [side in TasksJob['side']]: string } = {
  holdfast: `select count(*)::int as n from holdfast.tasks where status <> 'open'`,
  dbos: `select count(*)::int as n from dbos.workflow_status where status = 'SUCCESS'`,
};

const start = (place: Place, side: TasksJob['side'], submits: number | null, workerId: string): Started =>
  startProcess([CHILD, JSON.stringify({ place, side, submits, workerId, concurrency: PLACES } satisfies TasksJob)]);

/** What a queue of tasks that do nothing takes: beginning, one step, end. */
export const TASKS_ROW: Row = {
  name: 'tasks',
  title: `queued tasks that do nothing through ${WORKERS} workers of ${PLACES} at once, PostgreSQL`,
  needsPostgres: true,
  sides: ['holdfast', 'dbos'],
  measure: async (name, scale) => {
    const side = name === 'dbos' ? 'dbos' : 'holdfast';
    const tasks = TASKS[scale];
    const place = await newPlace('postgres');
    const ask = (sql: string, ...values: unknown[]) => query(place.databaseUrl ?? '', sql, values);
    // It makes the tables.
    const first = start(place, side, null, 'bench-first');
    await first.line();
    await first.kill();
    const submitting = start(place, side, tasks, 'bench-submits');
    await submitting.line();
    await submitting.gone;
    const names = await ask(`select distinct queue_name from dbos.workflow_status where status = 'ENQUEUED'`);
    const queue = names[0]?.['queue_name'];
    const moveTo = (to: unknown) =>
      ask(`update dbos.workflow_status set queue_name = $1 where status = 'ENQUEUED'`, to);
    await moveTo(ASIDE);
    const workers = Array.from({ length: WORKERS }, (_, n) => start(place, side, null, `bench-${n}`));
    for (const worker of workers) await worker.line();
    await ask('vacuum analyze');
    const begin = performance.now();
    await moveTo(queue);
    await ask(`select pg_notify($1, 'bench')`, WAKE_CHANNEL);
    for (;;) {
      const [row] = await ask(OVER[side]);
      if (row?.['n'] === tasks) break;
      await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
    }
    const value = tasks / ((performance.now() - begin) / 1000);
    for (const worker of workers) await worker.kill();
    return { tasks: { value, unit: 'tasks/s' } };
  },
};
