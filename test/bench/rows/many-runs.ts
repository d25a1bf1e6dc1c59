import { join } from 'node:path';
import type { Place } from '../place.js';
import { newPlace, query } from '../place.js';
import { measured, type Started, startJob, startProcess } from '../process.js';
import type { Row, Values } from '../row.js';
import { atShare } from '../shares.js';
import type { ComparedSide, Together } from '../side.js';
import { STREAM_TOKEN } from '../stream-client.js';

/** Many runs at once: in one process, over HTTP, and as forks of one run. */

const KB = 1024;

/** Each turn is a model call and a tool call; the last model call ends the run. */
const stepsOf = (turns: number): number => 2 * turns + 1;

const TOGETHER = { quick: 200, full: 1_000 };
const TURNS = 5;
const MODEL_MS = 1_000;

/** The model takes most of the time: what is left of it is what the process, the checks and the database add. */
const AGENTS: Row = {
  name: 'agents-1000',
  title: `1,000 runs at once in one process, a model of ${MODEL_MS} ms (--quick: 200), PostgreSQL`,
  needsPostgres: true,
  roundsMax: 2,
  sides: ['holdfast', 'dbos'],
  measure: async (side, scale) => {
    const runs = TOGETHER[scale];
    const { each, bytes } = await measured<Together>({
      ...{ side: side as ComparedSide, place: await newPlace('postgres'), concurrency: runs, modelMs: MODEL_MS },
      work: { type: 'together', runs, turns: TURNS },
    });
    const sorted = each.toSorted((a, b) => a - b);
    const added = sorted.map((ms) => (ms - (TURNS + 1) * MODEL_MS) / stepsOf(TURNS));
    return {
      steps: { value: (runs * stepsOf(TURNS)) / ((sorted.at(-1) ?? 0) / 1000), unit: 'steps/s' },
      'added to a step, p50': { value: atShare(added, 0.5), unit: 'ms' },
      'added to a step, p99': { value: atShare(added, 0.99), unit: 'ms' },
      'memory of a run': { value: bytes / KB / runs, unit: 'KB' },
    };
  },
};

const HTTP_CHILD = join(import.meta.dirname, '..', 'http-child.js');
const ASKED = { quick: { 1: 20, 64: 192 }, full: { 1: 100, 64: 640 } } as const;
const HEADERS = { Authorization: `Bearer ${STREAM_TOKEN}`, 'Content-Type': 'application/json' };

async function answered(
  url: string,
  init: RequestInit = {},
): Promise<{ readonly id: string; readonly status: string }> {
  const answer = await fetch(url, { ...init, headers: HEADERS });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${url} gave ${answer.status}: ${text}`);
  // As the API documents a run.
  return JSON.parse(text) as { readonly id: string; readonly status: string };
}

/** From the request that starts a run to the answer that has its output. */
async function runOverHttp(url: string): Promise<number> {
  const begin = performance.now();
  const body = JSON.stringify({ agent: 'adder', input: '1' });
  const { id } = await answered(`${url}/api/v1/runs`, { method: 'POST', body });
  for (;;) {
    const { status } = await answered(`${url}/api/v1/runs/${id}?wait=30`);
    if (status === 'completed') return performance.now() - begin;
    if (status !== 'queued' && status !== 'running') throw new Error(`the run ${id} is ${status}`);
  }
}

async function clientsOf(url: string, clients: number, runs: number): Promise<readonly number[]> {
  const taken: number[] = [];
  let left = runs;
  const client = async (): Promise<void> => {
    while (left-- > 0) taken.push(await runOverHttp(url));
  };
  await Promise.all(Array.from({ length: clients }, client));
  return taken.toSorted((a, b) => a - b);
}

const worker = (place: Place, name: string): Started =>
  startJob({ side: 'holdfast', place, workerId: name, concurrency: 32, work: { type: 'serve', runs: 0, turns: 0 } });

const HTTP: Row = {
  name: 'http',
  title: 'POST /runs to its output over HTTP, 1 and 64 clients, a server and 2 workers, against 1, PostgreSQL',
  needsPostgres: true,
  sides: ['2 workers', '1 worker'],
  measure: async (side, scale) => {
    const place = await newPlace('postgres');
    const started: Started[] = [];
    try {
      const server = startProcess([HTTP_CHILD, JSON.stringify(place)]);
      started.push(server);
      const url = String(await server.line());
      for (let n = 0; n < Number.parseInt(side, 10); n++) {
        const one = worker(place, `bench-${n}`);
        started.push(one);
        await one.line();
        await one.line();
      }
      await clientsOf(url, 8, 32);
      const values: Record<string, Values[string]> = {};
      for (const clients of [1, 64] as const) {
        const begin = performance.now();
        const taken = await clientsOf(url, clients, ASKED[scale][clients]);
        const perSecond = taken.length / ((performance.now() - begin) / 1000);
        const named = clients === 1 ? '1 client' : `${clients} clients`;
        values[named] = { value: perSecond, unit: 'runs/s' };
        values[`${named}, p50`] = { value: atShare(taken, 0.5), unit: 'ms' };
        values[`${named}, p99`] = { value: atShare(taken, 0.99), unit: 'ms' };
      }
      return values;
    } finally {
      for (const one of started) await one.kill();
    }
  },
};

const FORKS = { quick: 100, full: 1_000 };
const FORK_CLIENTS = 16;
/** The first two events begin the run, and each turn with a call is five. */
const AT = 2 + 18 * 5;

/** Forks of one run at its last turns, against as many new runs: a fork takes what is before it from the log of its source. */
const FORK: Row = {
  name: 'fork-1000',
  title:
    '1,000 forks of a run of 20 turns after its 18th, against 1,000 runs of as many turns as are left (--quick: 100)',
  needsPostgres: true,
  roundsMax: 2,
  sides: ['forks', 'runs'],
  measure: async (side, scale) => {
    const place = await newPlace('postgres');
    const server = startProcess([HTTP_CHILD, JSON.stringify(place)]);
    const one = worker(place, 'bench');
    try {
      const url = String(await server.line());
      await one.line();
      await one.line();
      const source = await answered(`${url}/api/v1/runs`, {
        method: 'POST',
        body: JSON.stringify({ agent: 'adder', input: '20' }),
      });
      await answered(`${url}/api/v1/runs/${source.id}?wait=30`);
      const start = (): Promise<unknown> =>
        side === 'forks'
          ? answered(`${url}/api/v1/runs/${source.id}/fork`, { method: 'POST', body: JSON.stringify({ at: AT }) })
          : answered(`${url}/api/v1/runs`, { method: 'POST', body: JSON.stringify({ agent: 'adder', input: '2' }) });
      const count = FORKS[scale];
      const begin = performance.now();
      let left = count;
      const client = async (): Promise<void> => {
        while (left-- > 0) await start();
      };
      await Promise.all(Array.from({ length: FORK_CLIENTS }, client));
      const accepted = (performance.now() - begin) / 1000;
      for (;;) {
        const [row] = await query(
          place.databaseUrl ?? '',
          `select count(*)::int as n from holdfast.runs where status = 'completed'`,
        );
        if (row?.['n'] === count + 1) break;
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
      return {
        accepted: { value: accepted, unit: 's' },
        'all over': { value: (performance.now() - begin) / 1000, unit: 's' },
      };
    } finally {
      await one.kill();
      await server.kill();
    }
  },
};

export const MANY_ROWS: readonly Row[] = [AGENTS, HTTP, FORK];
