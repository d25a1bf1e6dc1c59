import { Agent } from '@openai/agents';
import { afterEach, expect, it } from 'vitest';
import { z } from 'zod';
import { defineAgent, defineTool, subAgent } from '../../../src/index.js';
import { type DatabaseKind, describeEachDatabaseSlowly } from '../../harness/database.js';
import { ADMIN, openTestEngine, restOf, runToRest, type TestEngine } from '../../harness/engine.js';
import { call, say, scripted } from '../../harness/script.js';

const ask = defineTool({
  ...{ name: 'ask', description: 'Asks.', input: z.object({}), output: z.string(), effect: 'unsafe' },
  approval: () => 'because',
  execute: () => 'asked',
});
const child = defineAgent({
  agent: new Agent({ name: 'child', model: scripted([[say('done')]]) }),
  rate: { runs: 1, perMs: 3_600_000 },
});
const delegate = subAgent({ agent: 'child', name: 'delegate' });
const agents = [
  defineAgent({ agent: new Agent({ name: 'plain', model: scripted([[say('done')]]) }) }),
  defineAgent({
    agent: new Agent({ name: 'asker', model: scripted([[call('ask', {})]]), tools: [ask] }),
    grants: ['tool:call:*'],
  }),
  defineAgent({
    agent: new Agent({ name: 'parent', model: scripted([[call('delegate', { input: 'go' })]]), tools: [delegate] }),
    grants: ['tool:call:*'],
  }),
  child,
];

describeEachDatabaseSlowly('a run that has not begun', (kind: DatabaseKind) => {
  let t: TestEngine;
  afterEach(() => t.close());
  const open = async (role: 'api' | 'all') => {
    t = await openTestEngine(kind, { agents, role, concurrency: 4 });
  };
  const start = async (agent = 'plain') => (await t.engine.startRun({ agent, input: 'go' }, ADMIN)).id;

  /** In which tables, DBOS's and ours, there is something of a run. */
  const traces = (ids: readonly string[]) =>
    t.between(async (knex) => {
      const columns: { schema: string; table: string; column: string }[] = await knex('information_schema.columns')
        .whereIn('table_schema', ['dbos', 'holdfast'])
        .whereIn('column_name', ['run_id', 'workflow_uuid', 'forked_from_run_id', 'parent_run_id'])
        .select('table_schema as schema', 'table_name as table', 'column_name as column');
      // What the log over all runs has said of a run stays.
      const tables = [
        ...columns.filter(({ table }) => table !== 'log_entries'),
        { schema: 'holdfast', table: 'runs', column: 'id' },
      ];
      const found = await Promise.all(
        tables.map(async ({ schema, table, column }) => {
          const like = (query: typeof knex.client) => {
            for (const id of ids) query.orWhere(column, 'like', `${id}%`);
          };
          const row = await knex(`${schema}.${table}`).where(like).first(column);
          return row === undefined ? [] : [`${schema}.${table}`];
        }),
      );
      return found.flat();
    });

  it('is cancelled at once while no worker lives, and its place in the queue is free', async () => {
    await open('api');
    const id = await start();
    expect(await t.engine.cancelRun(id, 'not needed', ADMIN)).toMatchObject({ status: 'cancelled' });
    const segment = await t.between((knex) => knex('dbos.workflow_status').where({ workflow_uuid: id }).first());
    expect(segment).toMatchObject({ status: 'CANCELLED', queue_name: null });
    const engine = await t.restart({ role: 'all' });
    expect(await runToRest(engine, 'plain')).toMatchObject({ status: 'completed' });
    expect(await engine.getRun(id, ADMIN)).toMatchObject({ status: 'cancelled', segment: 0, turns: 0 });
  });

  // What was told of it stays told until its own time is over.
  it('is deleted as if it had not been started', async () => {
    await open('api');
    const request = { agent: 'plain', input: 'go', sessionId: 'talk' };
    const { id } = await t.engine.startRun(request, ADMIN, 'key');
    await expect(t.engine.startRun({ agent: 'plain', input: 'again', sessionId: 'talk' }, ADMIN)).rejects.toMatchObject(
      {
        code: 'session_busy',
      },
    );
    await expect(t.engine.deleteRun(id, { ...ADMIN, tenant: 'other' })).rejects.toMatchObject({ code: 'run_unknown' });
    expect(await traces([id])).toContain('dbos.workflow_status');
    const waiting = t.engine.getRun(id, ADMIN, { waitMs: 60_000 });
    const [refused, deleted] = await Promise.allSettled([waiting, t.engine.deleteRun(id, ADMIN)]);
    expect(deleted).toMatchObject({ status: 'fulfilled', value: { id, status: 'queued' } });
    expect(refused).toMatchObject({ status: 'rejected', reason: { code: 'run_unknown' } });
    await expect(t.engine.deleteRun(id, ADMIN)).rejects.toMatchObject({ code: 'run_unknown' });
    expect((await traces([id])).toSorted()).toEqual(['holdfast.removed_runs', 'holdfast.system_events']);
    const again = await t.engine.startRun(request, ADMIN, 'key');
    expect(again.id).not.toBe(id);
    const engine = await t.restart({ role: 'all' });
    expect(await restOf(engine, again.id)).toMatchObject({ status: 'completed' });
  });

  it('is kept once it has begun, or another run refers to it', async () => {
    await open('all');
    const over = await runToRest(t.engine, 'plain');
    const asked = await runToRest(t.engine, 'asker');
    expect(await runToRest(t.engine, 'child')).toMatchObject({ status: 'completed' });
    const parent = await runToRest(t.engine, 'parent');
    const { items } = await t.engine.listRuns({ parent: parent.id, limit: 1 }, ADMIN);
    expect(items).toMatchObject([{ status: 'queued' }]);
    const engine = await t.restart({ role: 'api' });
    const [decided] = (await engine.listInterruptions({ runId: asked.id, limit: 1 }, ADMIN)).items;
    const refuse = async (id: string, code: string) =>
      expect(engine.deleteRun(id, ADMIN)).rejects.toMatchObject({ code });
    await refuse(over.id, 'run_begun');
    await refuse(asked.id, 'run_begun');
    await engine.decide(decided?.id ?? '', { verdict: 'approve' }, ADMIN);
    expect(await engine.getRun(asked.id, ADMIN)).toMatchObject({ status: 'queued' });
    await refuse(asked.id, 'run_begun');
    await refuse(items[0]?.id ?? '', 'run_referenced');
    const fork = await engine.forkRun(asked.id, { at: 4 }, ADMIN);
    const forkOfFork = await engine.forkRun(fork.id, { at: 4 }, ADMIN);
    await refuse(fork.id, 'run_referenced');
    expect(await engine.deleteRun(forkOfFork.id, ADMIN)).toMatchObject({ id: forkOfFork.id });
    expect(await engine.deleteRun(fork.id, ADMIN)).toMatchObject({ id: fork.id });
    expect((await traces([fork.id, forkOfFork.id])).toSorted()).toEqual([
      'holdfast.removed_runs',
      'holdfast.system_events',
    ]);
  });

  it('is deleted or works, the one that is faster', async () => {
    await open('all');
    const results = await Promise.all(
      Array.from({ length: 30 }, async () => {
        const id = await start();
        const code = await t.engine.deleteRun(id, ADMIN).then(
          () => 'deleted',
          (error: { code: string }) => error.code,
        );
        return { id, code };
      }),
    );
    const by = (code: string) => results.filter((one) => one.code === code).map(({ id }) => id);
    expect(by('deleted').length + by('run_begun').length).toBe(30);
    for (const id of by('run_begun')) expect(await restOf(t.engine, id)).toMatchObject({ status: 'completed' });
    if (by('deleted').length > 0)
      expect((await traces(by('deleted'))).toSorted()).toEqual(['holdfast.removed_runs', 'holdfast.system_events']);
  });
});
