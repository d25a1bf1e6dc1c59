import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Database } from '../../src/storage/database/database.js';
import { openDatabase } from '../../src/storage/database/open-database.js';
import { createLog } from '../../src/storage/log/events.js';
import { readEvents, readHead } from '../../src/storage/log/read-events.js';
import { insertRun } from '../../src/storage/runs/runs.js';
import { firstBroken } from '../docs/verifier.js';
import { createEngineDatabase, describePostgres, type TestDatabase } from '../harness/database.js';
import { type Child, runChild } from './child.js';

const KEY = 'ab'.repeat(32);
const RUNS = 12;

/** What one of the two writes: how many events in each batch, and whether it looks at the end of the log before. */
const writing = fc.array(fc.record({ events: fc.integer({ min: 1, max: 5 }), looks: fc.boolean() }), {
  minLength: 1,
  maxLength: 25,
});
type Writing = typeof writing extends fc.Arbitrary<infer W> ? W : never;

/** Reads plans and writes by them; where it knows the end of the log and does not look, without a look at it, as segments do. */
const WRITER = `
  import { createInterface } from 'node:readline';
  import { openDatabase } from './database/open-database.js';
  import { appendEvents, extendLog } from './log/events.js';
  const database = await openDatabase(OPTIONS);
  const context = { at: new Date().toISOString(), worker: 'NAME' };
  const draft = (n) => ({ key: 'NAME:' + n, parentKey: n === 0 ? null : 'NAME:' + (n - 1),
    kind: 'run.cancel_requested', data: { actor: 'NAME', reason: String(n) } });
  console.log('ready');
  for await (const line of createInterface({ input: process.stdin })) {
    const { id, batches } = JSON.parse(line);
    let tail = null, n = 0;
    for (const { events, looks } of batches) {
      const drafts = Array.from({ length: events }, () => draft(n++));
      const known = looks ? null : tail;
      tail = known === null ? null : await extendLog(database.knex, known, drafts, context);
      tail ??= await database.knex.transaction((trx) => appendEvents(trx, id, drafts, context));
    }
    console.log('wrote ' + n);
  }
  await database.close();
`;

describePostgres('A log that two processes write at once', () => {
  let place: TestDatabase;
  let db: Database;
  let writers: readonly Child[] = [];
  beforeAll(async () => {
    place = await createEngineDatabase('postgres');
    db = await openDatabase(place.options);
    const options = JSON.stringify(place.options);
    writers = ['ann', 'bob'].map((name) => runChild(WRITER.replaceAll('NAME', name).replace('OPTIONS', () => options)));
    for (const writer of writers) expect(await writer.line()).toBe('ready');
  });
  afterAll(async () => {
    for (const writer of writers) writer.process.stdin?.end();
    for (const writer of writers) expect(await writer.line()).toBe(null);
    await db.close();
    await place.drop();
  });

  const newLog = async (id: string): Promise<void> =>
    db.knex.transaction(async (trx) => {
      const agent = { agent: 'a', agentVersion: '1', agentHash: 'h', priority: 1, input: 'go' };
      const limits = { maxTurns: 1, maxTotalTokens: null, maxDurationMs: null };
      await insertRun(trx, { id, tenant: 'default', ...agent, grants: [], limits, metadata: {} });
      await createLog(trx, id, 'default', KEY);
    });
  const countOf = (batches: Writing): number => batches.reduce((sum, { events }) => sum + events, 0);

  it('is one chain with every event of both once, each in its order', async () => {
    let runs = 0;
    await fc.assert(
      fc.asyncProperty(writing, writing, async (...plans) => {
        const id = `run_two_${runs++}`;
        await newLog(id);
        for (const [at, batches] of plans.entries())
          writers[at]?.process.stdin?.write(`${JSON.stringify({ id, batches })}\n`);
        for (const [at, batches] of plans.entries())
          expect(await writers[at]?.line()).toBe(`wrote ${countOf(batches)}`);
        const { rows: events } = await readEvents(db.knex, id, 0, 10_000);
        expect(firstBroken(events, KEY)).toBeNull();
        expect(await readHead(db.knex, id)).toMatchObject({ seq: events.length, hash: events.at(-1)?.hash });
        for (const [at, name] of ['ann', 'bob'].entries()) {
          const own = events.flatMap(({ data }) => {
            const { actor, reason } = data as { actor: string; reason: string };
            return actor === name ? [Number(reason)] : [];
          });
          expect(own).toEqual(Array.from({ length: countOf(plans[at] ?? []) }, (_, n) => n));
        }
      }),
      { numRuns: RUNS },
    );
  });
});
