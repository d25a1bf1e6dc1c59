import { afterAll, beforeAll, expect, it } from 'vitest';
import { reserve } from '../../../src/storage/budgets/budgets.js';
import type { Database } from '../../../src/storage/database/database.js';
import { migrate } from '../../../src/storage/database/migrate.js';
import { openDatabase } from '../../../src/storage/database/open-database.js';
import { fence } from '../../../src/storage/dbos/takeover.js';
import { recordHeartbeat } from '../../../src/storage/queue/workers.js';
import { claimCall } from '../../../src/storage/runs/calls.js';
import { atWork } from '../../harness/at-work.js';
import { createEngineDatabase, describePostgres, type TestDatabase } from '../../harness/database.js';

/** Many runs act for their worker at the same time, and each looks whether it still is the one: no heartbeat may wait for them. */
describePostgres('what acts for a worker', () => {
  let place: TestDatabase;
  let database: Database;
  let worker: { readonly id: string; readonly epoch: number };
  beforeAll(async () => {
    place = await createEngineDatabase('postgres');
    database = await openDatabase(place.options);
    await migrate(database.knex);
    worker = await atWork(database.knex, ['run_x']);
  });
  afterAll(async () => {
    await database.close();
    await place.drop();
  });

  const acts = {
    'an intent': (trx: Parameters<typeof claimCall>[0]) =>
      claimCall(
        trx,
        {
          ...{ runId: 'run_x', callId: 'c', tenant: 't', tool: 'pay', toolVersion: '1', effect: 'unsafe' },
          ...{ digest: 'd', execution: 'x', worker: worker.id, epoch: worker.epoch },
        },
        null,
      ),
    'a reservation': (trx: Parameters<typeof claimCall>[0]) =>
      reserve(trx, {
        ...{ runId: 'run_x', tenant: 't', worker },
        charge: {
          ...{ turn: 1, execution: 'x', attempt: 1, agent: 'a', model: 'm/m', usage: null, nanos: '1', price: null },
          state: 'reserved',
        },
        budgets: [
          { ...{ id: 'tenant:total:t', scope: 'tenant', name: 't', daily: false }, limit: 10n, onExhausted: 'fail' },
        ],
      }),
  } as const;

  it.each(['an intent', 'a reservation'] as const)(
    'by %s lets the heartbeat through, and a takeover waits for it',
    async (what) => {
      const own = database.ownConnection();
      let isFenced = false;
      let fenced: Promise<unknown> = Promise.resolve();
      try {
        await database.knex.transaction(async (trx) => {
          await acts[what](trx);
          expect(await recordHeartbeat(own, { ...worker, running: 1 })).toEqual({ stopAsked: null });
          fenced = database.knex
            .transaction((other) => fence(other, worker.id))
            .then(() => {
              isFenced = true;
            });
          await new Promise((resolve) => setTimeout(resolve, 500));
          expect(isFenced).toBe(false);
        });
        await fenced;
        expect(await recordHeartbeat(own, { ...worker, running: 1 })).toBeNull();
      } finally {
        await own.close();
        await fenced;
        await database.knex('holdfast.workers').where({ id: worker.id }).update({ epoch: worker.epoch });
      }
    },
  );
});
