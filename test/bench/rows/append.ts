import { join } from 'node:path';
import { spreadOf } from '../figures.js';
import { newPlace } from '../place.js';
import { startProcess } from '../process.js';
import type { Row } from '../row.js';

const CHILD = join(import.meta.dirname, '..', 'append-child.js');
const RUNS = 4;
const TURNS = 600;

/**
 * What it costs a step that the events of its run are written beside it. The other side is the same program, in which what writes
 * events waits, from before the first step that counts until after the last.
 */
export const APPEND: Row = {
  name: 'append',
  title: 'a step of a run whose events are written beside it, against one without, PostgreSQL',
  needsPostgres: true,
  sides: ['logged', 'unlogged'],
  measure: async (side, scale) => {
    const place = await newPlace('postgres');
    const share = scale === 'quick' ? 2 : 1;
    const job = { place, logged: side === 'logged', runs: RUNS / share, turns: TURNS / share };
    const child = startProcess([CHILD, JSON.stringify(job)]);
    const taken = (await child.line()) as number[];
    await child.gone;
    return { 'a step': { value: spreadOf(taken).median, unit: 'ms' } };
  },
};
