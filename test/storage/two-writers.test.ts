import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Database, openDatabase } from '../../src/storage/database.js';
import { createLog } from '../../src/storage/events.js';
import { readEvents, readHead } from '../../src/storage/read-events.js';
import { insertRun } from '../../src/storage/runs.js';
import { firstBroken } from '../docs/verifier.js';
import { createEngineDatabase, describePostgres, type TestDatabase } from '../harness/database.js';
import { runChild } from './child.js';

const BATCHES = 40;
const KEY = 'ab'.repeat(32);

/** Writes batches of one, two and three events; whenever it knows the end of the log, without a look at it, as segments do. */
const WRITER = `
  import { openDatabase } from './database.js';
  import { appendEvents, extendLog } from './events.js';
  const database = await openDatabase(OPTIONS);
  const context = { at: new Date().toISOString(), worker: 'NAME' };
  const draft = (n) => ({ key: 'NAME:' + n, parentKey: n === 0 ? null : 'NAME:' + (n - 1),
    kind: 'run.cancel_requested', data: { actor: 'NAME', reason: String(n) } });
  console.log('ready');
  await new Promise((resolve) => process.stdin.once('data', resolve));
  let tail = null, lost = 0;
  for (let batch = 0, n = 0; batch < ${BATCHES}; batch++) {
    const drafts = Array.from({ length: 1 + (batch % 3) }, () => draft(n++));
    const known = tail;
    tail = known === null ? null : await extendLog(database.knex, known, drafts, context);
    if (known !== null && tail === null) lost++;
    tail ??= await database.knex.transaction((trx) => appendEvents(trx, 'run_two', drafts, context));
  }
  console.log('lost ' + lost);
  await database.close();
  process.exit(0);
`;

describePostgres('A log that two processes write at once', () => {
  let place: TestDatabase;
  let db: Database;
  beforeAll(async () => {
    place = await createEngineDatabase('postgres');
    db = await openDatabase(place.options);
  });
  afterAll(async () => {
    await db.close();
    await place.drop();
  });

  it('is one chain with every event of both once, each in its order', async () => {
    await db.knex.transaction(async (trx) => {
      await insertRun(trx, {
        ...{
          id: 'run_two',
          tenant: 'default',
          agent: 'a',
          agentVersion: '1',
          agentHash: 'h',
          priority: 1,
          input: 'go',
        },
        ...{ grants: [], limits: { maxTurns: 1, maxTotalTokens: null, maxDurationMs: null }, metadata: {} },
      });
      await createLog(trx, 'run_two', 'default', KEY);
    });
    const options = JSON.stringify(place.options);
    const writers = ['ann', 'bob'].map((name) =>
      runChild(WRITER.replaceAll('NAME', name).replace('OPTIONS', () => options)),
    );
    for (const writer of writers) expect(await writer.line()).toBe('ready');
    for (const writer of writers) writer.process.stdin?.write('go\n');
    for (const writer of writers) expect(await writer.line()).toMatch(/^lost \d+$/);
    const events = await readEvents(db.knex, 'run_two', 0, 10_000);
    expect(firstBroken(events, KEY)).toBeNull();
    expect(await readHead(db.knex, 'run_two')).toMatchObject({ seq: events.length, hash: events.at(-1)?.hash });
    const each = Array.from({ length: BATCHES }, (_, batch) => 1 + (batch % 3)).reduce((sum, one) => sum + one, 0);
    for (const name of ['ann', 'bob']) {
      const own = events.flatMap(({ data }) => {
        const { actor, reason } = data as { actor: string; reason: string };
        return actor === name ? [Number(reason)] : [];
      });
      expect(own).toEqual(Array.from({ length: each }, (_, n) => n));
    }
  });
});
