import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { DatabaseClock } from '../../../src/engine/ops/database-clock.js';
import type { Database } from '../../../src/storage/database/database.js';
import { openDatabase } from '../../../src/storage/database/open-database.js';
import { createTestDatabase, describeEachDatabase, type TestDatabase } from '../../harness/database.js';

const HOUR_MS = 3_600_000;
/** What a busy machine takes to answer a question. */
const NEAR_MS = 10_000;

describeEachDatabase('the clock of the database', (kind) => {
  let made: TestDatabase;
  let database: Database;
  beforeEach(async () => {
    made = await createTestDatabase(kind);
    database = await openDatabase(made.options);
  });
  afterEach(async () => {
    vi.restoreAllMocks();
    await database.close();
    await made.drop();
  });
  /** As someone sets the clock of this machine: PGlite reads it, PostgreSQL has its own. */
  const setClock = (byMs: number): void => {
    const { now } = Date;
    vi.spyOn(Date, 'now').mockImplementation(() => now() + byMs);
  };
  const isNear = (timeMs: number, byMs: number): boolean => Math.abs(timeMs - byMs) < NEAR_MS;

  it('goes on while that of the process is set, and is followed when it is set itself', async () => {
    const clock = await DatabaseClock.open(database.knex);
    const startMs = Date.now();
    expect(isNear(clock.now(), startMs)).toBe(true);
    setClock(HOUR_MS);
    expect(isNear(clock.now(), startMs)).toBe(true);
    await clock.look(database.knex);
    expect(isNear(clock.now(), kind === 'pglite' ? startMs + HOUR_MS : startMs)).toBe(true);
  });
});
