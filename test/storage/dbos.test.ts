import { DBOS, DBOSClient } from '@dbos-inc/dbos-sdk';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Database } from '../../src/storage/database/database.js';
import { openDatabase } from '../../src/storage/database/open-database.js';
import { createTestDatabase, describeEachDatabase, type TestDatabase } from '../harness/database.js';
import { SLOW } from '../harness/slow.js';

const QUEUE = 'segments';
const SIZE = 50;

describeEachDatabase('DBOS', (kind) => {
  let place: TestDatabase;
  let db: Database;
  let client: DBOSClient;
  const bodies: string[] = [];
  const name = `body-${kind}`;

  beforeAll(async () => {
    place = await createTestDatabase(kind);
    db = await openDatabase(place.options);
    await db.pool.query('CREATE TABLE mine (id text PRIMARY KEY)');
    DBOS.registerWorkflow(
      async (id: string) => {
        await DBOS.runStep(async () => bodies.push(id), { name: 'note' });
        return id;
      },
      { name },
    );
    waiting = DBOS.registerWorkflow(waitForAnswer, { name: `waiting-${kind}` });
    asking = DBOS.registerWorkflow(askStatus, { name: `asking-${kind}` });
    DBOS.setConfig({
      name: 'holdfast-test',
      systemDatabasePool: db.pool,
      systemDatabaseUrl: db.url,
      applicationVersion: '1',
      executorID: 'test',
      logLevel: 'error',
    });
  });
  afterAll(async () => {
    await client.destroy();
    await DBOS.shutdown({ deregister: true });
    await db.close();
    await place.drop();
  });

  const enqueue = (id: string, fails = false): Promise<void> =>
    db.knex.transaction(async (trx) => {
      await trx('mine').insert({ id });
      const connection = await trx.client.acquireConnection();
      await client.enqueueInTransaction(connection, { queueName: QUEUE, workflowName: name, workflowID: id }, id);
      if (fails) throw new Error('rolled back');
    });

  const waitForAnswer = async (): Promise<string | null> => {
    await DBOS.setEvent('ready', true);
    return DBOS.recv<string>('answer', { timeoutSeconds: 20 });
  };
  const askStatus = async (id: string): Promise<string | null> =>
    (await DBOS.retrieveWorkflow(id).getStatus())?.status ?? null;
  let waiting = waitForAnswer;
  let asking = askStatus;

  test('launches and takes a queue', async () => {
    await DBOS.launch();
    await DBOS.registerQueue(QUEUE, { workerConcurrency: 10, minPollingIntervalMs: 50 });
    client = await DBOSClient.create({
      systemDatabasePool: db.pool,
      systemDatabaseUrl: db.url,
      applicationName: 'holdfast-test',
    });
  });

  test.runIf(SLOW)('runs what was committed with our rows, and nothing of what was rolled back with them', async () => {
    const ids = Array.from({ length: SIZE }, (_, i) => `${i}`);
    const settled = await Promise.allSettled(ids.map((id, i) => enqueue(id, i % 5 === 0)));
    const kept = ids.filter((_, i) => settled[i]?.status === 'fulfilled');
    expect(kept).toHaveLength(SIZE * 0.8);
    await Promise.all(kept.map(async (id) => expect(await DBOS.retrieveWorkflow(id).getResult()).toBe(id)));
    expect(bodies.toSorted()).toEqual(kept.toSorted());
    expect((await db.knex('mine').pluck('id')).toSorted()).toEqual(kept.toSorted());
    const { rows } = await db.pool.query('SELECT workflow_uuid AS id FROM dbos.workflow_status WHERE name = $1', [
      name,
    ]);
    expect(rows.map(({ id }) => id).toSorted()).toEqual(kept.toSorted());
  });

  test('wakes by notification, not by its poll of ten seconds', async () => {
    const handle = await DBOS.startWorkflow(waiting)();
    expect(await DBOS.getEvent(handle.workflowID, 'ready', { timeoutSeconds: 20 })).toBe(true);
    const sentAt = Date.now();
    await DBOS.send(handle.workflowID, 'yes', 'answer');
    expect(await handle.getResult()).toBe('yes');
    expect(Date.now() - sentAt).toBeLessThan(9_000);
  });

  test('reads the status of a workflow inside of another, also several at once', async () => {
    const done = await DBOS.startWorkflow(waiting)();
    await DBOS.send(done.workflowID, 'yes', 'answer');
    await done.getResult();
    const handles = await Promise.all(Array.from({ length: 8 }, () => DBOS.startWorkflow(asking)(done.workflowID)));
    expect(await Promise.all(handles.map((handle) => handle.getResult()))).toEqual(Array(8).fill('SUCCESS'));
    const none = await DBOS.startWorkflow(asking)('none');
    expect(await none.getResult()).toBeNull();
  });
});
