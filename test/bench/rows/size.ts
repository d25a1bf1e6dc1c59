import { WORKFLOWS } from '../../../src/engine/retention/retention.js';
import { openDatabase } from '../../../src/storage/database/open-database.js';
import { trimRecordings, trimRows } from '../../../src/storage/retention/retention.js';
import { databaseBytes, newPlace, type Place, query } from '../place.js';
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

const ROWS_AT_ONCE = 10_000;

/** What the ages of retention remove by default, as if the runs were older. */
async function retain(place: Place): Promise<void> {
  const database = await openDatabase(place);
  try {
    const trimming = { days: 0, tenant: null, limit: ROWS_AT_ONCE, workflows: WORKFLOWS };
    while ((await trimRecordings(database.knex, trimming)) > 0);
    while ((await trimRows(database.knex, 'systemEvents', trimming)) > 0);
  } finally {
    await database.close();
  }
}

const WRITTEN = `select coalesce(sum(n_tup_upd - n_tup_hot_upd + n_tup_del), 0)::float8 as dead,
  pg_database_size(current_database())::float8 as bytes from pg_stat_user_tables`;
/** How long a server takes at most to count what a connection wrote. */
const COUNTED_MS = 1_500;

/** What a database grows by for each run, before and after retention, and what vacuum has to clear. */
export const GROWTH: Row = {
  name: 'growth',
  title: 'what a run of 20 turns leaves: as it ended, and after the default retention; dead rows, PostgreSQL',
  needsPostgres: true,
  roundsMax: 1,
  sides: ['holdfast', 'dbos'],
  measure: async (name, scale) => {
    const side = name as ComparedSide;
    const place = await newPlace('postgres');
    const url = place.databaseUrl ?? '';
    const runs = scale === 'quick' ? 64 : 256;
    const work = { type: 'runs' as const, turns: 20, warmUp: 0 };
    const written = async (): Promise<{ readonly dead: number; readonly bytes: number }> => {
      await new Promise((resolve) => setTimeout(resolve, COUNTED_MS));
      const [row] = await query(url, WRITTEN);
      return { dead: Number(row?.['dead']), bytes: Number(row?.['bytes']) };
    };
    await measured({ side, place, work: { ...work, levels: [{ atOnce: 1, runs: 1 }] } });
    await databaseBytes(url);
    const before = await written();
    await measured({ side, place, work: { ...work, levels: [{ atOnce: 16, runs }] } });
    const after = await written();
    if (side === 'holdfast') await retain(place);
    const kept = await databaseBytes(url);
    return {
      'as it ended': { value: (after.bytes - before.bytes) / runs / 1024, unit: 'KB' },
      'after retention': { value: (kept - before.bytes) / runs / 1024, unit: 'KB' },
      'dead rows': { value: (after.dead - before.dead) / runs, unit: 'rows' },
    };
  },
};
