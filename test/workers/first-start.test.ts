import { join } from 'node:path';
import { expect, it } from 'vitest';
import { createTestDatabase, describePostgres } from '../harness/database.js';
import { WorkerProcess } from './worker-process.js';

/** Processes that are started at once where nothing is yet: they make the tables of one database. */

const ROUNDS = 3;

describePostgres('workers that start at once on a new database', () => {
  it('all come to work', { timeout: 240_000 }, async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const { options, drop } = await createTestDatabase('postgres');
      const { databaseUrl, dataDir } = options;
      const env = { DATABASE_URL: databaseUrl ?? '', LEDGER: join(dataDir, 'ledger') };
      const workers = ['a', 'b', 'c', 'd'].map((WORKER_ID) => new WorkerProcess({ ...env, WORKER_ID }));
      try {
        await Promise.all(workers.map((worker) => worker.says('ready')));
        expect(workers.map(({ isGone }) => isGone)).toEqual([false, false, false, false]);
      } finally {
        for (const worker of workers) if (!worker.isGone) worker.kill('SIGKILL');
        await Promise.all(workers.map(({ ended }) => ended));
        await drop();
      }
    }
  });
});
