import { newPlace } from '../place.js';
import { measured, startJob } from '../process.js';
import type { Row } from '../row.js';
import { atShare } from '../shares.js';
import type { ComparedSide } from '../side.js';

const ms = (value: number) => ({ value, unit: 'ms' as const });

/** From the decision of a person to the first line of the step that waited for it, with a worker that is idle. */
export const DECISION: Row = {
  name: 'decision',
  title: 'decision to next step, idle worker; against recv and send of DBOS',
  needsPostgres: true,
  sides: ['holdfast', 'dbos'],
  measure: async (side, scale) => {
    const work = { type: 'decisions' as const, count: scale === 'quick' ? 30 : 200 };
    const taken = await measured<number[]>({ side: side as ComparedSide, place: await newPlace('postgres'), work });
    const sorted = taken.sort((a, b) => a - b);
    return { p50: ms(atShare(sorted, 0.5)), p95: ms(atShare(sorted, 0.95)) };
  },
};

/** From the start of a process to the moment at which it works, on a database that was used before. */
export const START: Row = {
  name: 'start',
  title: 'start of a process until it works, PostgreSQL',
  needsPostgres: true,
  sides: ['holdfast', 'dbos'],
  measure: async (side) => {
    const place = await newPlace('postgres');
    const work = { type: 'paused' as const, warmUp: 0, count: 0, settleMs: 0 };
    const started = async (): Promise<number> => {
      const child = startJob({ side: side as ComparedSide, place, work });
      await child.line();
      const taken = performance.now() - child.at;
      await child.kill();
      return taken;
    };
    return { 'new database': ms(await started()), 'used database': ms(await started()) };
  },
};

/** Runs of other lengths: what grows with the square of a run's length shows here. */
export const LENGTH: Row = {
  name: 'length',
  title: 'time of one turn in runs of 50, 100, 200 and 500 turns, PostgreSQL',
  needsPostgres: true,
  notQuick: true,
  roundsMax: 2,
  sides: ['holdfast', 'dbos'],
  measure: async (side) => {
    const turns = [50, 100, 200, 500];
    const work = { type: 'lengths' as const, turns };
    const taken = await measured<number[]>({ side: side as ComparedSide, place: await newPlace('postgres'), work });
    return Object.fromEntries(taken.map((value, index) => [`${turns[index]} turns`, ms(value / (turns[index] ?? 1))]));
  },
};
