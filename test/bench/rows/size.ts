import { WORKFLOWS } from '../../../src/engine/retention/retention.js';
import type { Database } from '../../../src/storage/database/database.js';
import { openDatabase } from '../../../src/storage/database/open-database.js';
import { packNext } from '../../../src/storage/log/packed-events.js';
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

const RUNS_AT_ONCE = 100;

/** Packs the logs of runs that are over, as if they were older. */
async function pack({ knex }: Database): Promise<void> {
  while ((await packNext(knex, 0, RUNS_AT_ONCE)).more);
}

/** What the ages of retention remove by default, as if the runs were older. */
async function retain({ knex }: Database): Promise<void> {
  const trimming = { days: 0, tenant: null, limit: ROWS_AT_ONCE, workflows: WORKFLOWS };
  while ((await trimRecordings(knex, trimming)) > 0);
  while ((await trimRows(knex, 'systemEvents', trimming)) > 0);
}

async function withDatabase(place: Place, work: (database: Database) => Promise<void>): Promise<void> {
  const database = await openDatabase(place);
  await work(database).finally(() => database.close());
}

const WRITTEN = `select coalesce(sum(n_tup_upd - n_tup_hot_upd + n_tup_del), 0)::float8 as dead,
  pg_database_size(current_database())::float8 as bytes from pg_stat_user_tables`;
/** How long a server takes at most to count what a connection wrote. */
const COUNTED_MS = 1_500;

/** What a database grows by for each run, before and after retention, and what vacuum has to clear. */
export const GROWTH: Row = {
  name: 'growth',
  title: 'what a run of 20 turns leaves: as it ended, packed, and after the default retention; dead rows, PostgreSQL',
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
    const since = (bytes: number) => ({ value: (bytes - before.bytes) / runs / 1024, unit: 'KB' as const });
    if (side === 'holdfast') await withDatabase(place, pack);
    const packed = await databaseBytes(url);
    if (side === 'holdfast') await withDatabase(place, retain);
    return {
      'as it ended': since(after.bytes),
      packed: since(packed),
      'after retention': since(await databaseBytes(url)),
      'dead rows': { value: (after.dead - before.dead) / runs, unit: 'rows' },
    };
  },
};
