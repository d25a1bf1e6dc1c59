import { cloneWaiting } from '../clone-waiting.js';
import { newPlace, onServer, type Place, query } from '../place.js';
import { type Started, startJob } from '../process.js';
import type { Row } from '../row.js';
import type { ComparedSide } from '../side.js';

const WARM_UP = 300;
const WATCH_MS = 10_000;
/** What a process takes up again when it starts, it has taken up by then. */
const SETTLE_MS = 15_000;

interface Memory {
  readonly before: number;
  readonly bytes: number;
}

const MB = 2 ** 20;
const waiting = (
  side: ComparedSide,
  place: Place,
  counts: { warmUp: number; count: number },
  settleMs: number,
): Started => startJob({ side, place, work: { type: 'paused', ...counts, settleMs } });

/** Starts a process where runs wait already; the milliseconds until it works. */
async function restarted(side: ComparedSide, place: Place): Promise<{ child: Started; ms: number }> {
  const child = waiting(side, place, { warmUp: 0, count: 0 }, SETTLE_MS);
  await child.line();
  return { child, ms: performance.now() - child.at };
}

async function transactionsPerSecond(place: Place): Promise<number> {
  const database = new URL(place.databaseUrl ?? '').pathname.slice(1);
  const count = async (): Promise<number> => {
    const [row] = await onServer('select xact_commit::float8 as n from pg_stat_database where datname = $1', [
      database,
    ]);
    return Number(row?.['n']);
  };
  const from = await count();
  await new Promise((resolve) => setTimeout(resolve, WATCH_MS));
  return ((await count()) - from) / (WATCH_MS / 1000);
}

/** Runs that wait for a person: what they cost the process in which they came to wait, of which no one asks anything. */
const PAUSED: Row = {
  name: 'paused-1000',
  title: '1000 paused runs: memory, transactions while idle, restart; against recv of DBOS',
  needsPostgres: true,
  sides: ['holdfast', 'dbos'],
  roundsMax: 1,
  measure: async (name) => {
    const side = name as ComparedSide;
    const place = await newPlace('postgres');
    const child = waiting(side, place, { warmUp: WARM_UP, count: 1000 }, 1000);
    await child.line();
    const { before, bytes } = (await child.line()) as Memory;
    const perSecond = await transactionsPerSecond(place);
    await child.kill();
    const again = await restarted(side, place);
    await again.child.kill();
    return {
      'memory added': { value: Math.max(0, bytes - before) / MB, unit: 'MB' },
      'while idle': { value: perSecond, unit: 'transactions/s' },
      restart: { value: again.ms, unit: 'ms' },
    };
  },
};

/** The same of many more, which are copies of one in the database: what they cost a process that starts. */
const copiedRow = (count: number): Row => ({
  name: `paused-${count}`,
  title: `${count} paused runs, copied in the database: restart, memory, transactions while idle`,
  needsPostgres: true,
  sides: ['holdfast', 'dbos'],
  roundsMax: 1,
  onDemand: true,
  measure: async (name) => {
    const side = name as ComparedSide;
    const place = await newPlace('postgres');
    const first = waiting(side, place, { warmUp: 0, count: 1 }, 0);
    await first.line();
    await first.line();
    await first.kill();
    const started = async () => {
      const { child, ms } = await restarted(side, place);
      const { bytes } = (await child.line()) as Memory;
      return { child, ms, bytes };
    };
    const few = await started();
    await few.child.kill();
    await cloneWaiting((sql) => query(place.databaseUrl ?? '', sql), side, count);
    const many = await started();
    const perSecond = await transactionsPerSecond(place);
    await many.child.kill();
    return {
      restart: { value: many.ms, unit: 'ms' },
      'memory added': { value: Math.max(0, many.bytes - few.bytes) / MB, unit: 'MB' },
      'while idle': { value: perSecond, unit: 'transactions/s' },
    };
  },
});

export const PAUSED_ROWS: readonly Row[] = [PAUSED, copiedRow(10_000), copiedRow(100_000)];
