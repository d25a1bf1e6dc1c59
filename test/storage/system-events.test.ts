import { afterAll, beforeAll, expect, test } from 'vitest';
import type { AppliedBudget } from '../../src/core/budgets/budget.js';
import type { EventDraft } from '../../src/core/log/event.js';
import { SYSTEM_EVENT_DATA, type SystemEvent, type SystemEventDraft } from '../../src/core/log/system-event.js';
import { raiseLimit, reserve } from '../../src/storage/budgets/budgets.js';
import type { Database } from '../../src/storage/database/database.js';
import { migrate } from '../../src/storage/database/migrate.js';
import { openDatabase } from '../../src/storage/database/open-database.js';
import { createLog, extendLog } from '../../src/storage/log/events.js';
import {
  appendSystemEvent,
  placeSystemEvents,
  readSystemEvents,
  recordQueueDepth,
} from '../../src/storage/ops/system-events.js';
import { markDead, markStopped, recordHealthChanges, registerWorker } from '../../src/storage/queue/workers.js';
import { trimRows } from '../../src/storage/retention/retention.js';
import { insertRun } from '../../src/storage/runs/runs.js';
import { atWork } from '../harness/at-work.js';
import { createEngineDatabase, describeEachDatabase, type TestDatabase } from '../harness/database.js';

describeEachDatabase('events of the system', (kind) => {
  let place: TestDatabase;
  let database: Database;
  beforeAll(async () => {
    place = await createEngineDatabase(kind);
    database = await openDatabase(place.options);
    await migrate(database.knex);
  });
  afterAll(async () => {
    await database.close();
    await place.drop();
  });

  const tell = (event: SystemEventDraft) => database.knex.transaction((trx) => appendSystemEvent(trx, event));
  const submitted = (taskId: string, tenant = 'default', key?: string): SystemEventDraft => ({
    ...{ kind: 'task.submitted', tenant, taskId, data: { name: 'sort', version: '1.0.0' } },
    ...(key === undefined ? {} : { key }),
  });
  /** What is told from here on, to a tenant. */
  async function from(tenant = 'default') {
    const { position } = await placeSystemEvents(database.knex);
    return async (): Promise<readonly SystemEvent[]> => {
      await placeSystemEvents(database.knex);
      const { events } = await readSystemEvents(database.knex, { tenant, shared: true, after: position, limit: 1000 });
      for (const { kind: name, data } of events) SYSTEM_EVENT_DATA[name as keyof typeof SYSTEM_EVENT_DATA].parse(data);
      return events;
    };
  }
  const tasksOf = (events: readonly SystemEvent[]) => events.map(({ taskId }) => taskId);

  test('an event is read by its tenant, one of no tenant by everybody', async () => {
    const [ours, theirs] = [await from(), await from('acme')];
    await tell(submitted('a'));
    await tell(submitted('b', 'acme'));
    await tell({ kind: 'worker.health', tenant: null, workerId: 'w', data: { status: 'silent' } });
    expect((await ours()).map(({ kind: name, tenant }) => [name, tenant])).toEqual([
      ['task.submitted', 'default'],
      ['worker.health', null],
    ]);
    expect(tasksOf(await theirs())).toEqual(['b', null]);
  });

  test('what is rolled back was never told, and the same key is told once', async () => {
    const told = await from();
    const gone = database.knex.transaction(async (trx) => {
      await appendSystemEvent(trx, submitted('never'));
      throw new Error('it did not happen');
    });
    await expect(gone).rejects.toThrow('it did not happen');
    await Promise.all([1, 2, 3].map(() => tell(submitted('once', 'default', 'key:once'))));
    expect(tasksOf(await told())).toEqual(['once']);
  });

  test('many who tell and place at once leave every event its own place, in the order of their writers', async () => {
    const told = await from();
    let after = (await placeSystemEvents(database.knex)).position;
    const writers = ['x', 'y', 'z'].map(async (writer) => {
      for (let n = 0; n < 40; n++) await tell(submitted(`${writer}:${n}`));
    });
    const seen: SystemEvent[] = [];
    let writing = true;
    const readers = [1, 2].map(async () => {
      while (writing) await placeSystemEvents(database.knex);
    });
    const follower = (async () => {
      while (writing) {
        const { events } = await readSystemEvents(database.knex, { tenant: 'default', shared: true, after, limit: 7 });
        seen.push(...events);
        after = events.at(-1)?.seq ?? after;
      }
    })();
    await Promise.all(writers);
    writing = false;
    await Promise.all([...readers, follower]);
    const all = await told();
    expect(new Set(all.map(({ seq }) => seq)).size).toBe(120);
    // The one that followed meanwhile has missed nothing of what was placed before the last place that they read.
    expect(seen).toEqual(all.filter(({ seq }) => seq <= after));
    for (const writer of ['x', 'y', 'z']) {
      const own = tasksOf(all).flatMap((id) => (id?.startsWith(writer) === true ? [Number(id.slice(2))] : []));
      expect(own).toEqual(Array.from({ length: 40 }, (_, n) => n));
    }
  });

  // Inside PGlite's one session no transaction is slow beside another one.
  test.runIf(kind === 'postgres')(
    'the event of a slow transaction comes after what was read, never before',
    async () => {
      const told = await from();
      const slow = await database.knex.transaction();
      await appendSystemEvent(slow, submitted('slow'));
      await tell(submitted('fast'));
      const before = await told();
      expect(tasksOf(before)).toEqual(['fast']);
      await slow.commit();
      const after = await told();
      expect(tasksOf(after)).toEqual(['fast', 'slow']);
      expect(after[0]).toEqual(before[0]);
    },
  );

  test('steps are told by the statement that writes their events, in no round trip of their own', async () => {
    const told = await from();
    const { knex } = database;
    const begin = (id: string) =>
      knex.transaction(async (trx) => {
        await insertRun(trx, {
          ...{ id, tenant: 'default', agent: 'a', agentVersion: '1', agentHash: 'h', priority: 1, input: 'go' },
          ...{ grants: [], limits: { maxTurns: 1, maxTotalTokens: null, maxDurationMs: null }, metadata: {} },
        });
        return createLog(trx, id, 'default', '00'.repeat(32));
      });
    const log = await begin('run_steps');
    const usage = { inputTokens: 1, outputTokens: 1, totalTokens: 2 };
    const answer = { turn: 1, agent: 'a', model: 'openai/x', responseId: null, output: [], usage };
    const ended = { callId: 'c1', tool: 'pay', outcome: { type: 'output' as const, output: 'a secret' } };
    const drafts: EventDraft[] = [
      { key: 's', parentKey: null, kind: 'segment.started', data: { segment: 0, decisions: [] } },
      { key: 'm', parentKey: 's', kind: 'model.responded', data: answer },
      { key: 'c', parentKey: 'm', kind: 'call.finished', data: ended },
    ];
    let statements = 0;
    const count = () => void statements++;
    knex.on('query', count);
    const tail = await extendLog(knex, log, drafts, { at: new Date().toISOString(), worker: 'w1', segment: 0 });
    knex.off('query', count);
    expect(statements).toBe(1);
    expect(tail).not.toBeNull();
    // A writer whom another one was faster than has written no event, and tells none.
    expect(await extendLog(knex, log, drafts, { at: new Date().toISOString(), worker: 'w2' })).toBeNull();
    // What a fork takes over no one executed.
    await extendLog(knex, await begin('run_fork'), drafts, { at: new Date().toISOString(), worker: null });
    const steps = await told();
    const worth = { step: 1, reward: null, durationMs: null };
    expect(steps).toMatchObject([
      { kind: 'step.executed', runId: 'run_steps', workerId: 'w1', tenant: 'default' },
      { kind: 'step.executed', runId: 'run_steps', workerId: 'w1', tenant: 'default' },
    ]);
    expect(steps.map(({ data }) => data)).toEqual([
      { seq: 2, action: { type: 'model', turn: 1, model: 'openai/x' }, ...worth },
      { seq: 3, action: { type: 'tool', tool: 'pay', outcome: 'output' }, ...worth },
    ]);
    expect(JSON.stringify(steps)).not.toContain('secret');
  });

  test('workers are told when they come, fall silent, are heard of again, leave and die', async () => {
    const told = await from();
    const { knex } = database;
    const worker = {
      id: 'told',
      recordingVersion: 1,
      build: 'b',
      pid: 1,
      role: 'all',
      capacity: 2,
      session: null,
    } as const;
    const register = () => knex.transaction((trx) => registerWorker(trx, worker));
    const look = () => knex.transaction((trx) => recordHealthChanges(trx));
    const age = (by: string) =>
      knex('holdfast.workers')
        .where({ id: 'told' })
        .update({ heartbeat_at: knex.raw(`now() - interval '${by}'`) });
    await look();
    const first = await register();
    await look();
    await age('1 minute');
    await Promise.all([look(), look()]);
    await age('0 seconds');
    await look();
    await markStopped(knex, 'told', first);
    await markStopped(knex, 'told', first);
    await look();
    await register();
    // A process that comes back under its name was killed before.
    await register();
    await knex.transaction((trx) => markDead(trx, 'told'));
    const mine = (await told()).filter(({ workerId }) => workerId === 'told');
    expect(mine.map(({ kind: name, data }) => [name, data])).toEqual([
      ['worker.registered', { role: 'all', capacity: 2, epoch: 1, build: 'b' }],
      ['worker.health', { status: 'silent' }],
      ['worker.health', { status: 'working' }],
      ['worker.shutdown', { why: 'left' }],
      ['worker.registered', { role: 'all', capacity: 2, epoch: 2, build: 'b' }],
      ['worker.shutdown', { why: 'dead' }],
      ['worker.registered', { role: 'all', capacity: 2, epoch: 3, build: 'b' }],
      ['worker.shutdown', { why: 'dead' }],
    ]);
  });

  test('the length of the queue is told when it is another one', async () => {
    const told = await from();
    const { knex } = database;
    const look = () => knex.transaction((trx) => recordQueueDepth(trx, 'a queue'));
    await look();
    for (const id of ['q1', 'q2'])
      await knex('dbos.workflow_status').insert({ workflow_uuid: id, status: 'ENQUEUED', queue_name: 'a queue' });
    await Promise.all([look(), look()]);
    await knex('dbos.workflow_status').where({ queue_name: 'a queue' }).delete();
    await look();
    expect((await told()).map(({ data }) => data)).toEqual([
      { depth: 2, before: 0 },
      { depth: 0, before: 2 },
    ]);
  });

  test('a budget is told at 80 percent, when it has no room, and again under a limit that was raised', async () => {
    const worker = await atWork(database.knex, ['run_cost']);
    const told = await from();
    const of: AppliedBudget[] = [
      { id: 'all:day:', scope: 'all', name: '', daily: true, limit: 1_000_000_001n, onExhausted: 'fail' },
    ];
    let turn = 0;
    const take = (nanos: bigint, limits = of) =>
      reserve(database.knex, {
        ...{ runId: 'run_cost', tenant: 't', budgets: limits, worker },
        charge: {
          ...{ turn: turn++, execution: 'x', attempt: 1, agent: 'a', model: 'm/m', usage: null, nanos: String(nanos) },
          ...{ price: null, state: 'reserved' },
        },
      });
    await take(790_000_000n);
    expect(await told()).toEqual([]);
    await Promise.all([take(50_000_000n), take(50_000_000n), take(50_000_000n)]);
    expect((await take(500_000_000n)).type).toBe('full');
    expect((await take(500_000_000n)).type).toBe('full');
    const before = await told();
    expect(before).toMatchObject([
      { kind: 'cost.threshold_reached', runId: 'run_cost', tenant: 'default' },
      { kind: 'cost.threshold_reached', runId: 'run_cost', tenant: 'default' },
    ]);
    const day = String(before[0]?.data['day']);
    const common = { budget: `all:day::${day}`, scope: 'all', name: '', day, limitUsd: '1.000000001' };
    expect(before.map(({ data }) => data)).toEqual([
      { ...common, percent: 80, currentUsd: '0.84', thresholdUsd: '0.8' },
      { ...common, percent: 100, currentUsd: '0.94', thresholdUsd: '1.000000001' },
    ]);
    await database.knex.transaction((trx) => raiseLimit(trx, common.budget, 2_000_000_000n));
    await take(1_000_000_000n);
    expect((await told()).slice(2).map(({ data }) => data)).toMatchObject([
      { percent: 80, currentUsd: '1.94', thresholdUsd: '1.6', limitUsd: '2' },
    ]);
  });

  test('the oldest go first by their age and by their number, and the head says up to where', async () => {
    const { knex } = database;
    await tell(submitted('old'));
    await tell(submitted('young'));
    const { position } = await placeSystemEvents(knex);
    const trim = (days: number, limit = 500) =>
      trimRows(knex, 'systemEvents', { days, limit, tenant: null, workflows: [] });
    expect(await trim(7)).toBe(0);
    await knex('holdfast.system_events')
      .where('position', '<', position)
      .update({ at: new Date(0) });
    expect(await trim(7, 2)).toBe(2);
    while ((await trim(7)) > 0);
    const left = await readSystemEvents(knex, { tenant: 'default', shared: true, after: 0, limit: 10 });
    expect(tasksOf(left.events)).toEqual(['young']);
    expect(left.head).toEqual({ position, trimmed: position - 1 });
    // Places go on where they were, also when nothing is left.
    await knex('holdfast.system_event_head').update({ position: position + 2_000_000 });
    expect(await trim(36_500)).toBe(1);
    await tell(submitted('next'));
    await placeSystemEvents(knex);
    const { events } = await readSystemEvents(knex, { tenant: 'default', shared: true, after: 0, limit: 10 });
    expect(events).toMatchObject([{ taskId: 'next', seq: position + 2_000_001 }]);
  });
});
