import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Database } from '../../src/storage/database/database.js';
import { describeEachDatabase } from '../harness/database.js';
import { openLeftDatabase } from '../storage/database/left-database.js';
import type { Report } from './report.js';
import { type Simulation, simulate } from './simulation.js';

/** The dispatcher among many workers and tenants, by a clock of its own. */

describeEachDatabase('Workers that take runs of many tenants', (kind) => {
  let database: Database;
  let close: () => Promise<void>;
  beforeAll(async () => {
    ({ database, close } = await openLeftDatabase(kind));
  });
  afterAll(() => close());

  const simulated = async (changes: Partial<Simulation>): Promise<Report> => {
    await database.knex('dbos.workflow_status').delete();
    const small = { seed: 7, workers: 8, slots: 4, tenants: 12, runs: 400, dying: 0, arrivals: 'backlog' as const };
    return simulate(database, { ...small, ...changes });
  };

  it('serve tenants evenly that all have a backlog, however long each is', async () => {
    const { evenness } = await simulated({});
    // By age alone, half of the tenants would have ten times as much as the others: 0.6.
    expect(evenness).toBeGreaterThan(0.9);
  });

  it('let no one wait behind the burst of another tenant', async () => {
    const { heavy, others } = await simulated({ arrivals: 'burst' });
    expect(others.most).toBeLessThan(heavy.p50 / 2);
  });

  it('execute each run once, also those of workers that die', async () => {
    // A run that is taken twice, or never, fails the simulation.
    const { runs } = await simulated({ arrivals: 'burst', dying: 3, seed: 11 });
    expect(runs).toBe(400);
  });
});
