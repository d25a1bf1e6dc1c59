import knex, { type Knex } from 'knex';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { LogFields } from '../../../src/core/ops/log-record.js';
import { SILENT } from '../../../src/engine/engine-config.js';
import { logDatabaseErrors } from '../../../src/engine/ops/database-clock.js';
import { Metrics } from '../../../src/metrics/metrics.js';
import { silentLog } from '../../../src/storage/database/database.js';
import { freePort } from '../../harness/free-port.js';

let db: Knex;
let metrics: Metrics;
const lines: LogFields[] = [];
beforeAll(async () => {
  const connection = { host: '127.0.0.1', port: await freePort(), user: 'any', database: 'any' };
  db = knex({ client: 'pg', connection, log: silentLog });
  metrics = new Metrics();
  logDatabaseErrors(db, { ...SILENT, warn: (fields) => lines.push(fields) }, metrics);
});
afterAll(async () => {
  metrics.close();
  await db.destroy();
});

it('a server that takes no connection is told once in ten seconds, and each statement is counted', async () => {
  await expect(db.raw('select 1')).rejects.toThrow(/ECONNREFUSED/);
  await expect(db('runs').select()).rejects.toThrow(/ECONNREFUSED/);
  await expect(db.transaction((trx) => trx.raw('select 1'))).rejects.toThrow(/ECONNREFUSED/);
  expect(lines).toMatchObject([
    { component: 'database', event: 'database_away', reason: expect.stringMatching(/ECONNREFUSED/) },
  ]);
  const { text } = await metrics.expose();
  expect(text).toMatch(/^holdfast_database_errors_total\{reason="away"\} 3$/m);
});
