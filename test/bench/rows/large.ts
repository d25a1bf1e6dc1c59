import { join } from 'node:path';
import { databaseBytes, newPlace } from '../place.js';
import { startProcess } from '../process.js';
import type { Row, Values } from '../row.js';

const CHILD = join(import.meta.dirname, '..', 'large-child.js');
const PAYLOAD_CHILD = join(import.meta.dirname, '..', 'payload-child.js');
const KB = 1000;
const MB = 1000 * KB;
/** A segment is cut after so many turns, with all results before it. */
const RESULTS = 50;
/** Turns of a run with a large input: each asks the model with all of it. */
const TURNS = 20;

async function measured(turns: number, inputBytes: number): Promise<Values> {
  const job = { place: await newPlace('postgres'), turns, inputBytes };
  const child = startProcess(['--expose-gc', CHILD, JSON.stringify(job)]);
  try {
    const { ms, mb } = (await child.line()) as { readonly ms: number; readonly mb: number };
    return { 'a turn': { value: ms / turns, unit: 'ms' }, memory: { value: mb, unit: 'MB' } };
  } finally {
    await child.kill();
  }
}

const LONG: Row = {
  name: 'turns-2000',
  title: 'a run of 2,000 turns, against one of 200: time of a turn, and memory',
  needsPostgres: true,
  onDemand: true,
  roundsMax: 2,
  sides: ['2000', '200'],
  measure: (side) => measured(Number(side), 0),
};

const WIDE: Row = {
  name: 'input-5mb',
  title: 'a run of 20 turns with an input of 5 MB, against one of 5 KB: time of a turn, and memory',
  needsPostgres: true,
  onDemand: true,
  roundsMax: 2,
  sides: ['5 MB', '5 KB'],
  measure: (side) => measured(TURNS, side === '5 MB' ? 5000 * KB : 5 * KB),
};

/** What a run with large results leaves in the database, when nothing dead is left in it. */
async function stored(resultBytes: number): Promise<Values> {
  const place = await newPlace('postgres');
  const url = place.databaseUrl ?? '';
  const run = async (results: number, each: number) => {
    const job = { place, results, resultBytes: each, inputBytes: 100 };
    const child = startProcess(['--expose-gc', PAYLOAD_CHILD, JSON.stringify(job)]);
    const measured = (await child.line()) as { readonly ms: number; readonly mb: number };
    await child.gone;
    return measured;
  };
  await run(1, 1);
  const before = await databaseBytes(url);
  const { ms, mb } = await run(RESULTS, resultBytes);
  return {
    'a turn': { value: ms / RESULTS, unit: 'ms' },
    memory: { value: mb, unit: 'MB' },
    stored: { value: ((await databaseBytes(url)) - before) / MB, unit: 'MB' },
  };
}

const RESULTS_ROW: Row = {
  name: 'results-2mb',
  title: 'a run with 50 results of 2 MB, against 2 KB: time of a turn, memory, and bytes in the database',
  needsPostgres: true,
  onDemand: true,
  roundsMax: 2,
  sides: ['2 MB', '2 KB'],
  measure: (side) => stored(side === '2 MB' ? 2 * MB : 2 * KB),
};

export const LARGE_ROWS: readonly Row[] = [LONG, WIDE, RESULTS_ROW];
