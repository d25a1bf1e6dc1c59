import { afterAll, beforeAll, expect, it } from 'vitest';
import { KEY_SEPARATOR, NEEDS_CONTAINER, queueKey, queuePriority } from '../../src/core/queue/dispatch.js';
import type { Database } from '../../src/storage/database/database.js';
import { type Dequeue, dequeue, dequeueStatement } from '../../src/storage/dbos/dequeue.js';
import { keyAnew } from '../../src/storage/dbos/limited-names.js';
import { keySegments, type LimitRow, saveLimits } from '../../src/storage/queue/dispatch-limits.js';
import { insertRun as insertRunRow } from '../../src/storage/runs/runs.js';
import { describeEachDatabase } from '../harness/database.js';
import { explained, rowsReadBy } from '../harness/explain.js';
import { openLeftDatabase } from './database/left-database.js';

const QUEUE = 'holdfast.segments';
const NO_LIMITS = { concurrency: null, rate_runs: null, rate_per_ms: null };

describeEachDatabase('taking out of the queue', (kind) => {
  let database: Database;
  let close: () => Promise<void>;
  beforeAll(async () => {
    ({ database, close } = await openLeftDatabase(kind));
  });
  afterAll(() => close());

  const wanted = (room: number, changes: Partial<Dequeue> = {}): Dequeue => ({
    ...{ queue: QUEUE, executor: 'test', version: '1', application: 'holdfast', owner: 'owner', capacity: room },
    ...{ served: [], after: '', deferContainersMs: 0, engine: '', engineAwayMs: 0, offer: '{}' },
    ...changes,
  });
  /** Empties the queue and fills it again, the oldest first. */
  const fill = async (
    rows: readonly {
      readonly id: string;
      readonly tenant?: string;
      readonly agent?: string;
      readonly image?: string;
      readonly model?: string;
      readonly contained?: boolean;
      readonly engine?: string;
    }[],
  ) => {
    await database.knex('dbos.workflow_status').delete();
    await database.knex('holdfast.dispatch_starts').delete();
    await database.knex.batchInsert(
      'dbos.workflow_status',
      rows.map(({ id, tenant = 'default', agent = 'any', image = '', model = '', contained = false, engine }, n) => ({
        ...{ workflow_uuid: id, status: 'ENQUEUED', name: 'holdfast.segment', queue_name: QUEUE, created_at: n },
        ...{
          priority: queuePriority('new', 1000),
          queue_partition_key:
            image + model === ''
              ? queueKey(tenant, agent, contained, engine)
              : [tenant, agent, image, model].join(KEY_SEPARATOR),
        },
      })),
      2000,
    );
  };
  const limit = (...rows: readonly (Pick<LimitRow, 'kind' | 'name'> & Partial<LimitRow>)[]) =>
    saveLimits(
      database.knex,
      rows.map((row) => ({ ...NO_LIMITS, ...row })),
    );

  it.each(['none', 'kept'] as const)('reads a few rows of ten thousand by an index (limits %s)', async (limits) => {
    await limit(...(limits === 'none' ? [] : [{ kind: 'tenants', name: '', concurrency: 5 } as const]));
    await fill(
      Array.from({ length: 10_000 }, (_, n) => ({
        id: `run_${n}`,
        tenant: `t${n % 5}`,
        agent: `a${((n / 5) % 3) | 0}`,
      })),
    );
    await database.knex.raw('analyze dbos.workflow_status');
    const { text, values } = dequeueStatement(wanted(4), limits);
    const reads = (await explained(database, text, values)).filter(
      (node) => node['Relation Name'] === 'workflow_status' && /Scan/.test(node['Node Type']),
    );
    expect(reads.length).toBeGreaterThan(3);
    expect(reads.filter((node) => node['Node Type'] === 'Seq Scan')).toEqual([]);
    // The first of each of fifteen keys, and four of four keys.
    expect(Math.max(...reads.map(rowsReadBy))).toBeLessThanOrEqual(4 * 4);
  });

  it('takes nothing where there are limits that it does not keep', async () => {
    await limit({ kind: 'agent', name: 'other' });
    await fill([{ id: 'run_1' }]);
    expect(await dequeue(database, wanted(1), 'none')).toMatchObject({ limited: true, ids: [] });
    expect(await dequeue(database, wanted(1), 'kept')).toMatchObject({ limited: true, ids: ['run_1'] });
  });

  it('gives a row to one of many who take at once, and keeps a limit among them', async () => {
    await limit({ kind: 'agent', name: 'any', concurrency: 7 });
    await fill(Array.from({ length: 50 }, (_, n) => ({ id: `run_${n}`, tenant: `t${n % 3}` })));
    const taken = await Promise.all(
      Array.from({ length: 8 }, (_, n) =>
        dequeue(database, wanted(3, { executor: `w${n}`, served: [`t${n % 3}`, `t${(n + 1) % 3}`] }), 'kept'),
      ),
    );
    expect(taken.flatMap(({ ids }) => ids)).toHaveLength(7);
    await limit();
    const free: string[] = [];
    for (;;) {
      const more = await Promise.all(Array.from({ length: 4 }, () => dequeue(database, wanted(3), 'none')));
      free.push(...more.flatMap(({ ids }) => ids));
      if (more.every(({ chosen }) => chosen === 0)) break;
    }
    expect(new Set(free).size).toBe(43);
    expect(free).toHaveLength(43);
  });

  it('marks what it takes as DBOS does', async () => {
    await limit();
    await fill([{ id: 'run_1' }]);
    await database.knex('dbos.workflow_status').update({ workflow_timeout_ms: 5000 });
    await dequeue(database, wanted(1), 'none');
    const [row] = await database.knex('dbos.workflow_status').select();
    expect(row).toMatchObject({
      ...{ status: 'PENDING', executor_id: 'test', application_version: '1', application_name: 'holdfast' },
      ...{ owner_xid: 'owner', recovery_attempts: '1', rate_limited: false },
    });
    expect(Number(row.workflow_deadline_epoch_ms) - Number(row.started_at_epoch_ms)).toBe(5000);
    expect(row.updated_at).toBe(row.started_at_epoch_ms);
  });

  it('leaves what was recorded by another version, or belongs to another application', async () => {
    await fill([{ id: 'run_1' }, { id: 'run_2' }, { id: 'run_3' }]);
    await database.knex('dbos.workflow_status').where({ workflow_uuid: 'run_1' }).update({ application_version: '0' });
    await database.knex('dbos.workflow_status').where({ workflow_uuid: 'run_2' }).update({ application_name: 'else' });
    expect((await dequeue(database, wanted(5), 'none')).ids).toEqual(['run_3']);
    await fill([{ id: 'run_4' }]);
    expect((await dequeue(database, wanted(5, { version: '0' }), 'none')).ids).toEqual([]);
  });

  it('goes on behind two hundred keys, and comes round', async () => {
    await fill(Array.from({ length: 450 }, (_, n) => ({ id: `run_${n}`, tenant: `t${String(n).padStart(3, '0')}` })));
    const first = await dequeue(database, wanted(500), 'none');
    const second = await dequeue(database, wanted(500, { after: first.after }), 'none');
    const third = await dequeue(database, wanted(500, { after: second.after }), 'none');
    expect([first, second, third].map(({ ids }) => ids.length)).toEqual([200, 200, 50]);
    expect([first.after, second.after, third.after]).toEqual([queueKey('t199', 'any'), queueKey('t399', 'any'), '']);
  });

  it('keeps limits of images and of models, of all tenants and agents together, and lets others pass', async () => {
    await limit({ kind: 'image', name: 'one:1', concurrency: 3 }, { kind: 'model', name: 'fake/m', concurrency: 2 });
    await fill([
      ...Array.from({ length: 8 }, (_, n) => ({
        id: `m_${n}`,
        tenant: `t${n % 3}`,
        agent: `a${n % 2}`,
        model: 'fake/m',
      })),
      ...Array.from({ length: 8 }, (_, n) => ({ id: `i_${n}`, tenant: `t${n % 2}`, image: 'one:1' })),
      ...Array.from({ length: 3 }, (_, n) => ({ id: `b_${n}`, image: 'one:1', model: 'fake/m' })),
      ...Array.from({ length: 2 }, (_, n) => ({ id: `p_${n}`, tenant: 'last' })),
    ]);
    const take = async (room: number) => {
      const ids: string[] = [];
      for (let more = 1; more > 0; ) {
        const found = await dequeue(database, wanted(room), 'kept');
        more = found.ids.length;
        ids.push(...found.ids);
      }
      return ids;
    };
    const counted = (ids: readonly string[], letters: string) =>
      ids.filter((id) => letters.includes(id[0] ?? '')).length;
    const first = await take(4);
    expect(first).toEqual(expect.arrayContaining(['p_0', 'p_1']));
    expect([counted(first, 'mb'), counted(first, 'ib')]).toEqual([2, 3]);
    // One of each has ended: one of each is let in.
    const ended = ['m', 'i'].flatMap((letter) => first.filter((id) => id.startsWith(letter)).slice(0, 1));
    await database.knex('dbos.workflow_status').whereIn('workflow_uuid', ended).update({ status: 'SUCCESS' });
    const second = await take(4);
    expect([counted(second, 'mb') <= 1, counted(second, 'ib') <= 1, second.length > 0]).toEqual([true, true, true]);
    await limit();
    expect(await take(50)).toHaveLength(21 - first.length - second.length);
  });

  it('gives what waits other keys when other images and models are limited', async () => {
    await insertRun(database.knex, 'run_own', 'acme');
    await insertRun(database.knex, 'run_forked', 'acme');
    await database.knex('holdfast.runs').where({ id: 'run_forked' }).update({ model: 'fake/fork' });
    await fill([
      { id: 'run_own:3', tenant: 'acme' },
      { id: 'run_forked', tenant: 'acme' },
    ]);
    const keys = async () => {
      const rows = await database.knex('dbos.workflow_status').orderBy('workflow_uuid').select('queue_partition_key');
      return rows.map((row: { queue_partition_key: string }) => row.queue_partition_key.split(KEY_SEPARATOR));
    };
    const agents = { any: { image: 'one:1', model: 'fake/m' } };
    await keyAnew(database.knex, QUEUE, { images: ['one:1'], models: ['fake/fork'], agents });
    expect(await keys()).toEqual([
      ['acme', 'any', 'one:1', 'fake/fork', NEEDS_CONTAINER],
      ['acme', 'any', 'one:1', '', NEEDS_CONTAINER],
    ]);
    await keyAnew(database.knex, QUEUE, { images: [], models: ['fake/m'], agents });
    expect(await keys()).toEqual([
      ['acme', 'any', '', '', NEEDS_CONTAINER],
      ['acme', 'any', '', 'fake/m', NEEDS_CONTAINER],
    ]);
    const plain = { any: { image: null, model: 'fake/m' } };
    await keyAnew(database.knex, QUEUE, { images: [], models: [], agents: plain });
    expect(await keys()).toEqual([
      ['acme', 'any'],
      ['acme', 'any'],
    ]);
  });

  it.each(['none', 'kept'] as const)(
    'leaves runs in containers to workers that have an engine (limits %s)',
    async (limits) => {
      await limit(...(limits === 'none' ? [] : [{ kind: 'tenants', name: '', concurrency: 500 } as const]));
      const contained = Array.from({ length: 300 }, (_, n) => ({
        ...{ id: `c_${n}`, tenant: `t${String(n).padStart(3, '0')}`, contained: true },
      }));
      const plain = [
        { id: 'p_first', tenant: 't000' },
        { id: 'p_last', tenant: 'z' },
      ];
      const workers = () => database.knex('holdfast.workers');
      const worker = { id: 'elsewhere', epoch: 1, build: 'test', pid: 1, containers: true };
      const look = async (changes: Partial<Dequeue>) => {
        await fill([...contained, ...plain]);
        const first = await dequeue(database, wanted(400, changes), limits);
        const second = await dequeue(database, wanted(400, { ...changes, after: first.after }), limits);
        return { ids: [...first.ids, ...second.ids], leaves: [first.leaves, second.leaves] };
      };
      await workers().insert(worker);
      try {
        const without = { deferContainersMs: 60_000 };
        expect(await look(without)).toEqual({ ids: ['p_first', 'p_last'], leaves: [true, true] });
        expect((await look({ deferContainersMs: 0 })).ids).toHaveLength(302);
        // A worker that was not heard of for so long is not waited for, nor is one without an engine.
        await workers().update({ heartbeat_at: database.knex.raw(`now() - interval '61 seconds'`) });
        expect((await look(without)).ids).toHaveLength(302);
        await workers().update({ heartbeat_at: database.knex.fn.now(), containers: false });
        expect(await look(without)).toMatchObject({ leaves: [false, false] });
      } finally {
        await workers().delete();
        await limit();
      }
    },
  );

  it.each(['none', 'kept'] as const)(
    'leaves runs whose container is on another engine to the workers of that engine (limits %s)',
    async (limits) => {
      await limit(...(limits === 'none' ? [] : [{ kind: 'tenants', name: '', concurrency: 500 } as const]));
      const workers = () => database.knex('holdfast.workers');
      const worker = { id: 'elsewhere', epoch: 1, build: 'test', pid: 1, containers: true, engine: 'two' };
      const look = async (changes: Partial<Dequeue>) => {
        await fill([
          { id: 'plain' },
          { id: 'fresh', contained: true },
          { id: 'on_one', contained: true, engine: 'one' },
          { id: 'on_two', contained: true, engine: 'two' },
        ]);
        const { ids } = await dequeue(database, wanted(10, { engineAwayMs: 60_000, ...changes }), limits);
        return ids.toSorted();
      };
      await workers().insert(worker);
      try {
        expect(await look({ engine: 'one' })).toEqual(['fresh', 'on_one', 'plain']);
        expect(await look({ engine: 'two' })).toEqual(['fresh', 'on_one', 'on_two', 'plain']);
        // Its engine does not answer: it leaves all that needs a container.
        expect(await look({ engine: 'two', deferContainersMs: -1 })).toEqual(['plain']);
        // The worker may start again; then no one is left to wait for.
        await workers().update({ heartbeat_at: database.knex.raw(`now() - interval '59 seconds'`), containers: false });
        expect(await look({ engine: 'one' })).toEqual(['fresh', 'on_one', 'plain']);
        await workers().update({ heartbeat_at: database.knex.raw(`now() - interval '61 seconds'`) });
        expect(await look({ engine: 'one' })).toEqual(['fresh', 'on_one', 'on_two', 'plain']);
      } finally {
        await workers().delete();
        await limit();
      }
    },
  );

  it('finds what a build put into the queue that knew no keys', async () => {
    await fill([{ id: 'run_old' }]);
    await insertRun(database.knex, 'run_old', 'acme');
    await database.knex('dbos.workflow_status').update({ queue_partition_key: null });
    expect(await dequeue(database, wanted(1), 'none')).toMatchObject({ ids: [] });
    await keySegments(database.knex, QUEUE);
    expect(await dequeue(database, wanted(1), 'none')).toMatchObject({ ids: ['run_old'], tenants: ['acme'] });
  });
});

const insertRun = (db: Database['knex'], id: string, tenant: string) =>
  db.transaction((trx) =>
    insertRunRow(trx, {
      ...{ id, tenant, agent: 'any', agentVersion: '1', agentHash: '', priority: 1000, input: 'go', grants: [] },
      ...{ limits: { maxTurns: 1, maxTotalTokens: null, maxDurationMs: null }, metadata: {} },
    }),
  );
