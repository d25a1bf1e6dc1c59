import { Agent } from '@openai/agents';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { defineAgent, defineTool, functionModel } from '../../../src/index.js';
import { aTask } from '../../core/tasks/a-task.js';
import { describeEachDatabase } from '../../harness/database.js';
import { ADMIN, BOB, engineFor, restOf, runToRest } from '../../harness/engine.js';
import { call, outputAfter, say } from '../../harness/script.js';

/** A request that names several things: one whose row someone has changed is refused, and the others are done. */

const ask = defineTool({
  ...{ name: 'ask', description: 'Asks.', effect: 'pure', approval: true },
  ...{ input: z.object({}), output: z.json(), execute: () => null },
});
const stop = defineTool({
  ...{ name: 'stop', description: 'Fails.', effect: 'pure', onFailure: 'fail', input: z.object({}), output: z.json() },
  execute: () => {
    throw new Error('no');
  },
});
const agentOf = (name: string, ...tools: readonly string[]) =>
  defineAgent({
    agent: new Agent({
      ...{ name, tools: [ask, stop] },
      model: functionModel(name, async ({ input }) =>
        outputAfter([...tools.map((tool) => [call(tool, {}, tool)]), [say('done')]], input),
      ),
    }),
    grants: ['tool:call:*'],
  });

describeEachDatabase('one changed row of several', (kind) => {
  const t = engineFor(kind, { agents: [agentOf('asks', 'ask'), agentOf('fails', 'stop')] });

  it('is refused by itself: decisions', async () => {
    const items: { readonly id: string; readonly digest: string }[] = [];
    for (const _ of [1, 2, 3]) {
      const { id } = await runToRest(t.engine, 'asks');
      const pending = await t.engine.listInterruptions({ status: 'pending', runId: id, limit: 1 }, BOB);
      items.push(...pending.items.map((one) => ({ id: one.id, digest: one.digest })));
    }
    const [first] = items;
    await t.between((knex) => knex('holdfast.interruptions').where({ id: first?.id }).update({ arguments: '{"n":1}' }));
    const decided = await t.engine.decideMany({ verdict: 'approve', items }, BOB);
    expect(decided.items.map(({ status, error }) => status ?? error?.code)).toEqual([
      'row_changed',
      'approved',
      'approved',
    ]);
  });

  it('is refused by itself: lines of a batch', async () => {
    const task = aTask();
    for (const version of ['1.0.0', '2.0.0']) await t.engine.registerTask({ task: { ...task, version } }, ADMIN);
    await t.between((knex) =>
      knex('holdfast.task_definitions').where({ version: '1.0.0' }).update({ definition: '{"half' }),
    );
    async function* lines() {
      for (const version of ['1.0.0', '2.0.0'])
        yield { line: Number(version[0]), value: { task: { name: task.name, version }, agent: 'asks' } };
    }
    const answers = [];
    for await (const answer of t.engine.submitTasks(lines(), ADMIN, 'several')) answers.push(answer);
    expect(answers).toMatchObject([
      { line: 1, error: { code: 'row_changed' } },
      { line: 2, status: 'submitted' },
      { end: true, submitted: 1, failed: 1 },
    ]);
  });

  it('runs are tried again by themselves under a key of any length, and once under it', async () => {
    const ids: string[] = [];
    for (const _ of [1, 2]) ids.push((await runToRest(t.engine, 'fails')).id);
    const key = 'k'.repeat(255);
    const tried = async () => (await t.engine.bulkRuns({ action: 'retry', ids }, ADMIN, key)).items;
    const first = await tried();
    expect(first.map(({ error }) => error)).toEqual([null, null]);
    for (const { run } of first) await restOf(t.engine, run?.id ?? '');
    expect((await tried()).map(({ run }) => run?.id)).toEqual(first.map(({ run }) => run?.id));
  });
});
