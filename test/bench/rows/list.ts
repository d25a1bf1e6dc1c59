import { join } from 'node:path';
import { cloneHistory, SLOTS, type Template } from '../clone-history.js';
import type { ListJob, Made } from '../list-child.js';
import { newPlace, type Place, query } from '../place.js';
import { startProcess } from '../process.js';
import type { Row, Scale, Values } from '../row.js';
import { STREAM_TOKEN } from '../stream-client.js';

const CHILD = join(import.meta.dirname, '..', 'list-child.js');
const COUNT = { long: { quick: 100_000, full: 1_000_000 }, short: { quick: 10_000, full: 10_000 } };
/** Real runs of each kind: the newest page has logs that verify. */
const REAL = 15;
const WARM_UP = 3;
const ASKED = { quick: 20, full: 40 };

const start = (place: Place, runs: number) => startProcess([CHILD, JSON.stringify({ place, runs } satisfies ListJob)]);

const RUNS: Readonly<Record<string, string>> = {
  all: '',
  completed: 'status=completed',
  failed: 'status=failed',
  paused: 'status=paused',
  queued: 'status=queued',
  'of an agent': 'agent=agent7',
  'of an unknown agent': 'agent=unknown',
  'of an agent, completed': 'agent=agent7&status=completed',
  'of an agent, failed': 'agent=agent7&status=failed',
  'of an agent, paused': 'agent=agent7&status=paused',
  'of an agent, cancelled': 'agent=agent7&status=cancelled',
  'of a session': 'session=session40',
  'with an error': 'error=limit_turns',
  'with an error, of an agent': 'error=limit_turns&agent=agent7',
  'with a tag': 'tag=monday',
  'with a tag, failed': 'tag=monday&status=failed',
  'of a usual model': 'model=usual',
  'of a rare model': 'model=rare',
  'of a usual model, of an agent': 'model=usual&agent=agent7',
  'that wait for an approval': 'waiting=approval',
  'that wait for a question': 'waiting=question',
  'of a subject': 'subject=someone',
  'of a day': 'DAY',
  'of a day, failed': 'DAY&status=failed',
};
const ROWS_OF_RUNS: Readonly<Record<string, string>> = {
  'by cost': 'order=cost',
  'by cost, of an agent': 'order=cost&agent=agent7',
  'by duration': 'order=duration',
  'by duration, failed': 'order=duration&status=failed',
  'by a text': 'q=question',
  'by a text that none has': 'q=nowhere',
};
const INTERRUPTIONS: Readonly<Record<string, string>> = {
  all: '',
  pending: 'status=pending',
  approved: 'status=approved',
  expired: 'status=expired',
  'of an agent': 'agent=agent7',
  'of an agent, pending': 'agent=agent7&status=pending',
  'of an agent, approved': 'agent=agent7&status=approved',
  'of a tool': 'tool=tool7',
  'of a tool, pending': 'tool=tool7&status=pending',
  'of a kind': 'kind=approval',
  'of a kind that none has': 'kind=question',
  'of kinds, pending': 'kind=approval,question,budget&status=pending',
  'newest first': 'order=newest',
  'by deadline, pending': 'order=deadline&status=pending',
  'by deadline': 'order=deadline',
  'that I voted on': 'voted=me',
  'that I voted on, pending': 'voted=me&status=pending',
};
const OTHERS: Readonly<Record<string, string>> = {
  stats: 'stats',
  'counts of runs': 'runs/counts',
  'counts of runs of an agent': 'runs/counts?agent=agent7',
  'counts of the inbox': 'interruptions/counts',
};

const day = (): string => {
  const at = (days: number): string => new Date(Date.now() - days * 86_400_000).toISOString();
  return `from=${at(3)}&to=${at(2)}`;
};

const under = (name: string, path: string, lists: Readonly<Record<string, string>>): (readonly [string, string])[] =>
  Object.entries(lists).map(([what, asked]) => [`${name}: ${what}`, `${path}?${asked.replace('DAY', day())}`]);

const paths = (): (readonly [name: string, path: string])[] => [
  ...under('runs', 'runs', RUNS),
  ...under('rows', 'runs/rows', ROWS_OF_RUNS),
  ...under('interruptions', 'interruptions', INTERRUPTIONS),
  ...Object.entries(OTHERS),
];

async function answered(url: string, path: string): Promise<{ readonly ms: number; readonly cursor: string | null }> {
  const begin = performance.now();
  const answer = await fetch(`${url}/api/v1/${path}`, { headers: { Authorization: `Bearer ${STREAM_TOKEN}` } });
  const text = await answer.text();
  const ms = performance.now() - begin;
  if (answer.status !== 200) throw new Error(`GET ${path} gave ${answer.status}: ${text}`);
  const { nextCursor } = JSON.parse(text) as { readonly nextCursor?: string | null };
  return { ms, cursor: nextCursor ?? null };
}

/** Half of the questions go to the first page, half to the one behind it. */
async function timesOf(url: string, path: string, count: number): Promise<readonly number[]> {
  const taken: number[] = [];
  for (let n = -WARM_UP; n < count; n += 2) {
    const { ms, cursor } = await answered(url, path);
    const joined = path.includes('?') ? '&' : '?';
    const next = cursor === null ? path : `${path}${joined}cursor=${encodeURIComponent(cursor)}`;
    const second = await answered(url, next);
    if (n >= 0) taken.push(ms, second.ms);
  }
  return taken.toSorted((a, b) => a - b);
}

async function measure(count: number, scale: Scale): Promise<Values> {
  const place = await newPlace('postgres');
  const maker = start(place, REAL);
  const made = (await maker.line()) as Made;
  await maker.gone;
  await cloneHistory((sql) => query(place.databaseUrl ?? '', sql), templatesOf(made), count);
  const server = start(place, 0);
  const url = String(await server.line());
  const values: Record<string, Values[string]> = {};
  for (const [name, path] of paths()) {
    const taken = await timesOf(url, path, ASKED[scale]);
    for (const share of [50, 95])
      values[`${name}, p${share}`] = {
        value: taken[Math.floor((taken.length * share) / 100)] ?? Number.NaN,
        unit: 'ms',
      };
  }
  await server.kill();
  return values;
}

/** Of a hundred runs two wait, ten have failed, and twenty were approved. */
function templatesOf({ completed, failed, paused, approved }: Made): readonly Template[] {
  const slots = Array.from({ length: SLOTS }, (_, n) => n);
  return [
    { ...paused, slots: slots.slice(0, 1) },
    { ...failed, slots: slots.slice(1, 6) },
    { ...approved, slots: slots.slice(6, 16) },
    { ...completed, slots: slots.slice(16) },
  ];
}

/** What the console and its users ask again and again, in a long history and in a short one. */
export const LIST: Row = {
  name: 'list',
  title: 'lists over HTTP at 1,000,000 runs, by every filter, against 10,000, PostgreSQL',
  needsPostgres: true,
  onDemand: true,
  roundsMax: 1,
  sides: ['long', 'short'],
  measure: (side, scale) => measure(COUNT[side === 'long' ? 'long' : 'short'][scale], scale),
};
