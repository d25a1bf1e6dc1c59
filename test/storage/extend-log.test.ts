import { afterAll, beforeAll, expect, it } from 'vitest';
import type { EventDraft } from '../../src/core/log/event.js';
import type { Database } from '../../src/storage/database/database.js';
import { openDatabase } from '../../src/storage/database/open-database.js';
import { appendEvents, createLog, extendLog } from '../../src/storage/log/events.js';
import { readEvents, readHead, readLogs } from '../../src/storage/log/read-events.js';
import type { LogTail } from '../../src/storage/log/write-events.js';
import { insertRun } from '../../src/storage/runs/runs.js';
import { firstBroken } from '../docs/verifier.js';
import { createEngineDatabase, describeEachDatabase, type TestDatabase } from '../harness/database.js';

const AT = { at: '2026-01-01T00:00:00.000Z', worker: 'w' };
const draft = (n: number, parent: number | null = null): EventDraft => ({
  ...{ key: `0:${n}`, parentKey: parent === null ? null : `0:${parent}` },
  ...{ kind: 'segment.started', data: { segment: n, decisions: ['a "quoted" \\ text', '\u0000', '\ud83d\ude00'] } },
});

describeEachDatabase('A log that goes on', (kind) => {
  let place: TestDatabase;
  let db: Database;
  beforeAll(async () => {
    place = await createEngineDatabase(kind);
    db = await openDatabase(place.options);
  });
  afterAll(async () => {
    await db.close();
    await place.drop();
  });

  async function begun(id: string): Promise<LogTail | null> {
    return db.knex.transaction(async (trx) => {
      await insertRun(trx, {
        ...{ id, tenant: 'default', agent: 'a', agentVersion: '1', agentHash: 'h', priority: 1, input: 'go' },
        ...{ grants: [], limits: { maxTurns: 1, maxTotalTokens: null, maxDurationMs: null }, metadata: {} },
      });
      await createLog(trx, id, 'default', 'ab'.repeat(32));
      return appendEvents(trx, id, [draft(1)], AT);
    });
  }
  const append = (id: string, drafts: EventDraft[]) => db.knex.transaction((trx) => appendEvents(trx, id, drafts, AT));
  const seqs = async (id: string) =>
    (await readEvents(db.knex, id, 0, 100)).rows.map((event) => [event.seq, event.parentId]);

  it('is extended in one statement, and is the same chain', async () => {
    const tail = await begun('one');
    const next = tail && (await extendLog(db.knex, tail, [draft(2, 1), draft(3, 2)], AT));
    expect(next && (await extendLog(db.knex, next, [draft(4, 2)], AT))).not.toBeNull();
    expect(await seqs('one')).toEqual([
      [1, null],
      [2, 'one:1'],
      [3, 'one:2'],
      [4, 'one:2'],
    ]);
    const head = await readHead(db.knex, 'one');
    const { rows: events } = await readEvents(db.knex, 'one', 0, 100);
    expect(firstBroken(events, head?.runKey ?? '')).toBeNull();
    expect(head).toMatchObject({ seq: 4, hash: events.at(-1)?.hash });
  });

  it('is told whole and in its order, also where payloads were erased', async () => {
    for (const id of ['told', 'told-too']) {
      await begun(id);
      await append(
        id,
        Array.from({ length: 11 }, (_, n) => draft(n + 2, n + 1)),
      );
    }
    await db.knex('holdfast.events').where({ run_id: 'told-too', seq: 3 }).update({ data: null });
    const logs = await readLogs(db.knex, ['told', 'nobody', 'told-too']);
    expect([...logs.keys()].toSorted()).toEqual(['told', 'told-too']);
    for (const [id, told] of logs) {
      const { rows: events } = await readEvents(db.knex, id, 0, 100);
      expect(events).toHaveLength(12);
      expect(await told()).toEqual(
        events.map(({ seq, kind: what, at, data, stateVersion, stateHashBefore, stateHashAfter, hash }) => ({
          ...{ seq, kind: what, at, data, stateVersion, stateHashBefore, stateHashAfter, hash, worker: 'w' },
        })),
      );
    }
  });

  it('is not extended by one who did not see what someone else wrote', async () => {
    const tail = await begun('two');
    await append('two', [draft(2, 1)]);
    expect(tail && (await extendLog(db.knex, tail, [draft(2, 1), draft(3, 2)], AT))).toBeNull();
    expect(await append('two', [draft(2, 1), draft(3, 2)])).not.toBeNull();
    expect((await seqs('two')).map(([seq]) => seq)).toEqual([1, 2, 3]);
  });

  it('has no known end for one who wrote again what is there', async () => {
    await begun('three');
    await append('three', [draft(2, 1), draft(3, 2)]);
    expect(await append('three', [draft(1)])).toBeNull();
    expect(await append('three', [draft(1), draft(2, 1)])).toBeNull();
  });

  it('is not extended by what follows from an event that the writer does not know', async () => {
    const tail = await begun('four');
    const next = tail && (await extendLog(db.knex, tail, [draft(2, 1)], AT));
    expect(next && (await extendLog(db.knex, next, [draft(3, 9)], AT))).toBeNull();
    expect((await seqs('four')).map(([seq]) => seq)).toEqual([1, 2]);
  });

  it('gets nothing more of a segment that the run has left behind', async () => {
    await begun('left');
    const data = { segment: 2, from: 1, to: 2 };
    const rebuilt: EventDraft = { key: '1:rebuilt', parentKey: '0:1', kind: 'segment.rebuilt', data };
    expect(await append('left', [rebuilt])).not.toBeNull();
    const write = (segment: number, n: number) =>
      db.knex.transaction((trx) => appendEvents(trx, 'left', [draft(n, 1)], { ...AT, segment }));
    expect(await write(1, 2)).toBeNull();
    expect((await seqs('left')).map(([seq]) => seq)).toEqual([1, 2]);
    expect(await write(2, 3)).not.toBeNull();
  });

  it('of a run that is over gets nothing more', async () => {
    await begun('five');
    const end: EventDraft = { key: 'end', parentKey: '0:1', kind: 'run.completed', data: { output: 'done' } };
    expect(await append('five', [end])).not.toBeNull();
    expect(await append('five', [draft(2, 1)])).toBeNull();
    expect((await seqs('five')).map(([seq]) => seq)).toEqual([1, 2]);
  });
});
