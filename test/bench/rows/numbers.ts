import { join } from 'node:path';
import type { NumbersJob } from '../numbers-child.js';
import { holding, newPlace, query } from '../place.js';
import { type Started, startProcess } from '../process.js';
import type { Row, Values } from '../row.js';

const CHILD = join(import.meta.dirname, '..', 'numbers-child.js');
const COUNT = { quick: 300, full: 1000 };
const WORKERS: { readonly [side: string]: number } = { 'three workers': 3, 'one worker': 1 };
const LOOK_MS = 100;

/** All runs are made before the first of them is due. */
const DUE_SECONDS = 120;
const DAY_SECONDS = 86_400;

const PENDING = `select count(*)::int as n from holdfast.interruptions where status = 'pending'`;
const LIVE = `select count(*)::int as n from holdfast.runs where status not in ('completed', 'failed', 'cancelled')`;
const FAILED = `select error from holdfast.runs where status = 'failed' limit 1`;
const LAST_DUE = `select extract(epoch from max(due_at) - clock_timestamp())::float8 as seconds from holdfast.timers`;
/** What is due is left to the one that holds its run. */
const HOLD_RUNS = `select from holdfast.runs where status = 'paused' for update`;

/** What runs that wait wait for, and who ends it: time, or a process that does `act` and says how many seconds that took. */
interface Kind {
  readonly name: string;
  readonly agent: 'payer' | 'sleeper' | 'hearer';
  readonly act: Extract<NumbersJob['act'], { type: 'emit' | 'cancel' }> | null;
}
const KINDS: readonly Kind[] = [
  { name: 'deadlines', agent: 'payer', act: null },
  { name: 'timers', agent: 'sleeper', act: null },
  { name: 'one event', agent: 'hearer', act: { type: 'emit' } },
  { name: 'cancel', agent: 'payer', act: { type: 'cancel' } },
];

async function measure({ name, agent, act }: Kind, workers: number, count: number): Promise<Values> {
  const place = await newPlace('postgres');
  const waitSeconds = act === null ? DUE_SECONDS : DAY_SECONDS;
  const start = (workerId: string, does: NumbersJob['act']): Started =>
    startProcess([CHILD, JSON.stringify({ place, workerId, waitSeconds, act: does } satisfies NumbersJob)]);
  const ask = (sql: string) => query(place.databaseUrl ?? '', sql);
  const none = async (sql: string): Promise<void> => {
    for (;;) {
      const [row] = await ask(sql);
      if (row?.['n'] === 0) return;
      await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
    }
  };
  const first = start('bench-first', { type: 'wait', agent, count });
  await first.line();
  await first.line();
  await first.kill();
  await ask('vacuum analyze');
  const held = act === null ? await holding(place.databaseUrl ?? '', HOLD_RUNS) : null;
  const others = act === null ? workers : workers - 1;
  const beside = Array.from({ length: others }, (_, n) => start(`bench-${n}`, { type: 'work' }));
  for (const worker of beside) await worker.line();
  const acting = act === null ? null : start('bench-acts', act);
  await acting?.line();
  if (held !== null) {
    const [last] = await ask(LAST_DUE);
    await new Promise((resolve) => setTimeout(resolve, Math.max(0, Number(last?.['seconds'])) * 1000));
    await held.release();
  }
  const begin = performance.now();
  await none(PENDING);
  const settled = (performance.now() - begin) / 1000;
  await acting?.line();
  await none(LIVE);
  const over = (performance.now() - begin) / 1000;
  const [failed] = await ask(FAILED);
  if (failed !== undefined) throw new Error(`a run failed: ${failed['error']}`);
  for (const worker of [...beside, ...(acting === null ? [] : [acting])]) await worker.kill();
  return {
    [`${count} ${name}: settled`]: { value: settled, unit: 's' },
    [`${count} ${name}: runs over`]: { value: over, unit: 's' },
  };
}

/** What comes in numbers: deadlines and timers that are due in one moment, an event that many wait for, many cancellations. */
export const NUMBERS_ROWS: readonly Row[] = KINDS.map((kind) => ({
  name: `many-${kind.name.replace(' ', '-')}`,
  title: `${kind.name} of 1,000 runs that wait: until all are settled, and until all runs are over, PostgreSQL`,
  needsPostgres: true,
  notQuick: true,
  sides: Object.keys(WORKERS),
  roundsMax: 2,
  measure: (side, scale) => measure(kind, WORKERS[side] ?? 1, COUNT[scale]),
}));
