import { join } from 'node:path';
import { newPlace } from '../place.js';
import { startProcess } from '../process.js';
import type { Row, Values } from '../row.js';

const CHILD = join(import.meta.dirname, '..', 'large-child.js');
const KB = 1000;
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

export const LARGE_ROWS: readonly Row[] = [LONG, WIDE];
