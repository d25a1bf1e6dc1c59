import { newPlace, query } from '../place.js';
import { startJob } from '../process.js';
import type { Row } from '../row.js';

const RUNS = 20;
/** With the time of the model each run works for longer than anybody waits. */
const TURNS = 600;
const MODEL_MS = 200;
const LOOK_MS = 100;
const SIGNALS: { readonly [side: string]: NodeJS.Signals } = { 'stands still': 'SIGSTOP', 'is killed': 'SIGKILL' };

/** Runs of which no one else has written an event yet. */
const LEFT = `
  select count(*)::int as n from holdfast.runs r
   where not exists (select from holdfast.events e where e.run_id = r.id and e.worker = 'bench-second')`;

/** How long the runs of a worker that says nothing any more stand still, until another one goes on with all of them. */
export const STILL: Row = {
  name: 'still',
  title: `${RUNS} runs of a worker that stands still (SIGSTOP) until another one goes on, against one that is killed`,
  needsPostgres: true,
  notQuick: true,
  sides: Object.keys(SIGNALS),
  measure: async (side) => {
    const place = await newPlace('postgres');
    const start = (workerId: string, runs: number) =>
      startJob({ side: 'holdfast', place, workerId, modelMs: MODEL_MS, work: { type: 'serve', runs, turns: TURNS } });
    const first = start('bench-first', RUNS);
    await first.line();
    await first.line();
    const ask = async (sql: string): Promise<unknown> => (await query(place.databaseUrl ?? '', sql))[0]?.['n'];
    const until = async (sql: string, wanted: number): Promise<void> => {
      while ((await ask(sql)) !== wanted) await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
    };
    await until(`select count(distinct run_id)::int as n from holdfast.events where kind = 'call.finished'`, RUNS);
    const second = start('bench-second', 0);
    await second.line();
    await second.line();
    const begin = performance.now();
    first.signal(SIGNALS[side] ?? 'SIGKILL');
    await until(LEFT, 0);
    const value = (performance.now() - begin) / 1000;
    await first.kill();
    await second.kill();
    return { [`${RUNS} runs go on`]: { value, unit: 's' } };
  },
};
