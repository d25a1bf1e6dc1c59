import type { Engine } from '../../src/index.js';
import type { Database } from '../../src/storage/database/database.js';
import { PAYMENTS } from './agents.js';
import { CALLER } from './doors.js';
import { isOver, type Order } from './people.js';

type Knex = Database['knex'];

interface RunFacts {
  readonly id: string;
  readonly agent: string;
  readonly status: 'queued' | 'running' | 'paused' | 'completed' | 'failed' | 'cancelled';
  readonly refused: number;
}

interface PaidCall {
  readonly key: string;
  readonly outcome: string | null;
}

/** Every order is one run, which ended as it had to. */
export async function checkEnds(knex: Knex, orders: readonly Order[]): Promise<string[]> {
  const wrong = orders.flatMap(({ key, agent, runId, status, cancelled, fails, error, why }) => {
    const what = `${key} (${agent}, ${runId})`;
    if (!isOver(status)) return [`${what} is ${status}`];
    if (status === 'cancelled') return cancelled ? [] : [`${what} was cancelled by no one`];
    if (status === 'completed') return fails === null ? [] : [`${what} is completed; it was to fail`];
    return error === fails ? [] : [`${what} failed with ${error}: ${why}`];
  });
  const [row] = await knex('holdfast.runs').whereNull('parent_run_id').count<{ count: string }[]>();
  const runs = Number(row?.count);
  return runs === orders.length ? wrong : [...wrong, `there are ${runs} runs of ${orders.length} orders`];
}

/** No payment was made twice, none without an intent, and of a run that was not cancelled none is missing. */
export async function checkLedger(knex: Knex, entries: readonly string[]): Promise<string[]> {
  const runs: RunFacts[] = await knex('holdfast.runs as r').select(
    'r.id',
    'r.agent',
    'r.status',
    knex.raw(`(select count(*)::int from holdfast.interruptions i
                where i.run_id = r.id and i.tool = 'transfer' and i.status = 'rejected') as refused`),
  );
  const calls: PaidCall[] = await knex('holdfast.calls')
    .where({ effect: 'unsafe' })
    .select(knex.raw(`run_id || ':' || call_id as key`), knex.raw(`outcome::json ->> 'type' as outcome`));
  const paid = new Map<string, number>();
  for (const key of entries) paid.set(key, (paid.get(key) ?? 0) + 1);
  const known = new Set(calls.map(({ key }) => key));
  const ofRun = new Map<string, number>();
  for (const key of entries) {
    const [id = ''] = key.split(':');
    ofRun.set(id, (ofRun.get(id) ?? 0) + 1);
  }
  return [
    ...[...paid].flatMap(([key, times]) => (times > 1 ? [`${key} was paid ${times} times`] : [])),
    ...[...paid.keys()].flatMap((key) => (known.has(key) ? [] : [`${key} was paid without an intent`])),
    ...calls.flatMap(({ key, outcome }) =>
      outcome === 'output' && !paid.has(key) ? [`${key} has its outcome and was never paid`] : [],
    ),
    ...runs.flatMap(({ id, agent, status, refused }) => {
      const expected = (PAYMENTS[agent] ?? 0) - refused;
      const found = ofRun.get(id) ?? 0;
      return status === 'cancelled' || found === expected
        ? []
        : [`${id} (${agent}, ${status}) paid ${found} times, not ${expected}`];
    }),
  ];
}

/** Every log is whole, and ends with its run. */
export async function checkChains(knex: Knex, engine: Engine): Promise<string[]> {
  const ids: { id: string }[] = await knex('holdfast.runs').select('id');
  const wrong: string[] = [];
  for (const { id } of ids) {
    const { ok, complete, broken } = await engine.verifyRun(id, CALLER);
    if (!ok || !complete) wrong.push(`the log of ${id} is not whole: ${broken?.what ?? 'its end is missing'}`);
  }
  return wrong;
}
