import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createClient } from '../../src/cli/client.js';
import { type DatabaseKind, dropAll, newPlace, type Place, query } from '../bench/place.js';
import { WorkerProcess } from '../workers/worker-process.js';
import { type Sample, sampleIn } from './sample.js';
import { slopeOf } from './slope.js';
import { folderBytes } from './steady-folder.js';
import { STEADY_TOKEN, SteadyLoad } from './steady-load.js';

/** A light load for a long time, without faults: what does a process hold as it goes on? */

export interface SteadyOptions {
  readonly database: DatabaseKind;
  readonly minutes: number;
  /** Errands that begin in a second. */
  readonly perSecond: number;
  readonly say: (line: string) => void;
}

const PROGRAM = join(import.meta.dirname, 'steady-server.js');
const SAMPLES = 24;
/** Part of the time in which a process still comes by what it keeps: pools, caches, compiled code. */
const WARM_PART = 0.25;
const QUIET_MS = 3000;
const SAMPLE_WITHIN_MS = 20_000;
const MB = 1024 ** 2;
const HOUR_MS = 3_600_000;

interface Moment {
  readonly hours: number;
  readonly errands: number;
  readonly databaseBytes: number;
  readonly sample: Sample;
}

interface Figure {
  readonly name: string;
  readonly of: (moment: Moment) => number;
  /** It may grow by so much within the watched time; null: it grows with what is kept. */
  readonly mayGrow: number | null;
  readonly digits: number;
}

const sum = (counts: Readonly<Record<string, number>>): number => Object.values(counts).reduce((a, b) => a + b, 0);

/** What is watched, and by how much it may be uneven: the memory of a process is, and connections of pools come and go. */
const FIGURES: readonly Figure[] = [
  { name: 'MB resident', of: ({ sample }) => sample.rssBytes / MB, mayGrow: 64, digits: 0 },
  { name: 'MB heap', of: ({ sample }) => sample.heapBytes / MB, mayGrow: 5, digits: 1 },
  { name: 'descriptors', of: ({ sample }) => sample.descriptors, mayGrow: 5, digits: 0 },
  { name: 'handles', of: ({ sample }) => sum(sample.resources), mayGrow: 5, digits: 0 },
  { name: 'timers', of: ({ sample }) => sample.resources['Timeout'] ?? 0, mayGrow: 5, digits: 0 },
  { name: 'listeners', of: ({ sample }) => sample.listeners, mayGrow: 5, digits: 0 },
  { name: 'signals', of: ({ sample }) => sample.signals, mayGrow: 20, digits: 0 },
  { name: 'MB on disk', of: ({ databaseBytes }) => databaseBytes / MB, mayGrow: null, digits: 1 },
];

async function databaseBytes({ databaseUrl, dataDir }: Place): Promise<number> {
  if (databaseUrl === null) return folderBytes(dataDir);
  const [row] = await query(databaseUrl, 'select pg_database_size(current_database())::float8 as bytes');
  return Number(row?.['bytes']);
}

async function sampleOf(server: WorkerProcess): Promise<Sample> {
  const before = server.said.length;
  server.kill('SIGUSR2');
  for (const until = performance.now() + SAMPLE_WITHIN_MS; performance.now() < until; await sleep(50)) {
    const sample = server.said.endsWith('\n') ? sampleIn(server.said.slice(before)) : null;
    if (sample !== null) return sample;
  }
  throw new Error(`the server does not say what it holds: ${server.said.slice(-2000)}`);
}

const lineOf = ({ hours, errands, ...moment }: Moment): string =>
  [
    `${(hours * 60).toFixed(1)} min, ${errands} errands`,
    ...FIGURES.map(({ name, of, digits }) => `${of({ hours, errands, ...moment }).toFixed(digits)} ${name}`),
  ].join(', ');

/** One line for each figure, and those that grow. */
function verdicts(moments: readonly Moment[]): {
  readonly lines: readonly string[];
  readonly grown: readonly string[];
} {
  const last = moments.at(-1)?.hours ?? 0;
  const watched = moments.filter(({ hours }) => hours >= last * WARM_PART);
  const span = last - (watched[0]?.hours ?? last);
  const grown: string[] = [];
  const lines = FIGURES.map(({ name, of, mayGrow, digits }) => {
    const slope = slopeOf(watched.map((moment) => ({ hours: moment.hours, value: of(moment) })));
    const [first, now] = [watched.at(0), watched.at(-1)].map((moment) => (moment === undefined ? 0 : of(moment)));
    const said = `${name}: ${first?.toFixed(digits)} to ${now?.toFixed(digits)}, ${slope.toFixed(2)} an hour`;
    if (mayGrow === null || slope * span <= mayGrow) return said;
    grown.push(`${said}, more than ${mayGrow} in ${(span * 60).toFixed(0)} minutes`);
    return `${said}: grows`;
  });
  return { lines, grown };
}

/** Answers what is wrong; nothing when all is well. Always ends, and leaves no process behind. */
export async function steady({ database, minutes, perSecond, say }: SteadyOptions): Promise<readonly string[]> {
  const place = await newPlace(database);
  const server = new WorkerProcess(
    {
      ...(place.databaseUrl !== null && { DATABASE_URL: place.databaseUrl }),
      ...{ HOLDFAST_DATA_DIR: place.dataDir, LEDGER: join(place.dataDir, 'ledger') },
    },
    ['--expose-gc', PROGRAM],
  );
  try {
    await server.says('ready ');
    const url = /ready (\S+)\n/.exec(server.said)?.[1] ?? '';
    const load = new SteadyLoad(createClient(url, STEADY_TOKEN), perSecond);
    const began = performance.now();
    const moments: Moment[] = [];
    const look = async (): Promise<void> => {
      await sleep(QUIET_MS);
      const moment = {
        ...{ hours: (performance.now() - began) / HOUR_MS, errands: load.count },
        ...{ databaseBytes: await databaseBytes(place), sample: await sampleOf(server) },
      };
      moments.push(moment);
      say(lineOf(moment));
    };
    await look();
    while (performance.now() - began < minutes * 60_000 && !server.isGone) {
      await load.go((minutes * 60_000) / SAMPLES);
      await look();
    }
    say(
      `errands: ${Object.entries(load.done)
        .map(([name, count]) => `${name} ${count}`)
        .join(', ')}`,
    );
    const { lines, grown } = verdicts(moments);
    for (const line of lines) say(line);
    return [...new Set(load.problems), ...grown];
  } finally {
    server.kill('SIGKILL');
    await server.ended;
    await dropAll();
  }
}
