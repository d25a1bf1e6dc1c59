import { databaseBytes, newPlace } from '../place.js';
import { measured } from '../process.js';
import type { Row } from '../row.js';
import type { ComparedSide } from '../side.js';

const RUNS = 32;

/** What runs take in the database, with indexes, when nothing dead is left in it. */
export const SIZE: Row = {
  name: 'size',
  title: 'bytes in the database of a run, PostgreSQL',
  needsPostgres: true,
  roundsMax: 1,
  sides: ['holdfast', 'dbos'],
  measure: async (name) => {
    const side = name as ComparedSide;
    const sizes: [string, { value: number; unit: 'KB' }][] = [];
    for (const turns of [20, 100]) {
      const place = await newPlace('postgres');
      const url = place.databaseUrl ?? '';
      const runs = turns === 20 ? RUNS : RUNS / 4;
      await measured({ side, place, work: { type: 'runs', turns, warmUp: 1, levels: [] } });
      const before = await databaseBytes(url);
      await measured({ side, place, work: { type: 'runs', turns, warmUp: 0, levels: [{ atOnce: 8, runs }] } });
      sizes.push([`run of ${turns} turns`, { value: ((await databaseBytes(url)) - before) / runs / 1024, unit: 'KB' }]);
    }
    return Object.fromEntries(sizes);
  },
};
