import { Agent } from '@openai/agents';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { LOCAL_CALLER } from '../../src/core/caller.js';
import { defineAgent } from '../../src/engine/agents/define.js';
import { call, createTestEngine, say, scriptedModel, type TestEngine } from '../../src/library/testing.js';
import { defineTool } from '../../src/tools/define/define-tool.js';
import { createEngineDatabase, describeEachDatabase, type TestDatabase } from '../harness/database.js';

/** The engine of `holdfast/testing`: decisions, and what the log says of calls. */

const order = (name: string) =>
  defineTool({
    name,
    description: 'Orders.',
    input: z.object({ count: z.number() }),
    output: z.number(),
    effect: 'unsafe',
    approval: true,
    execute: ({ count }) => count,
  });

const agentOf = (name: string, model: ReturnType<typeof scriptedModel>, tools: Agent['tools'] = []) =>
  defineAgent({
    agent: new Agent({ name, model, tools }),
    grants: ['tool:call:tea', 'tool:call:milk'],
  });

const AGENTS = [
  agentOf('buyer', scriptedModel([[call('tea', { count: 1 }), call('milk', { count: 2 })], [say('done')]]), [
    order('tea'),
    order('milk'),
  ]),
];

describeEachDatabase('createTestEngine', (kind) => {
  let database: TestDatabase;
  let t: TestEngine;
  beforeAll(async () => {
    database = await createEngineDatabase(kind);
    t = await createTestEngine({ agents: AGENTS, ...database.options });
  });
  afterAll(async () => {
    await t.close();
    await database.drop();
  });

  test('a call of several is decided by its tool, and the log says what became of each', async () => {
    const { id } = await t.run('buyer');
    await expect(t.decide(id, { verdict: 'approve' })).rejects.toMatchObject({
      message: expect.stringContaining('waits for 2 decisions, and'),
    });
    await expect(t.decide(id, { verdict: 'approve' }, 'coffee')).rejects.toMatchObject({
      message: expect.stringContaining('waits for 0 decisions on coffee'),
    });
    expect(await t.calls(id)).toMatchObject([{ outcome: null }, { outcome: null }]);
    await t.decide(id, { verdict: 'approve' }, 'milk');
    expect(await t.pending(id)).toMatchObject([{ tool: 'tea' }]);
    const [tea] = await t.pending(id);
    await t.engine.decide(tea?.id ?? '', { verdict: 'reject' }, LOCAL_CALLER);
    expect(await t.rest(id)).toMatchObject({ status: 'completed', output: 'done' });
    expect(await t.calls(id)).toEqual([
      { tool: 'tea', arguments: { count: 1 }, decision: 'ask', outcome: expect.objectContaining({ why: 'rejected' }) },
      { tool: 'milk', arguments: { count: 2 }, decision: 'ask', outcome: { type: 'output', output: 2 } },
    ]);
  });

  test('a closed one starts no other engine', async () => {
    await t.close();
    await expect(t.restart()).rejects.toMatchObject({
      ...{ code: 'engine_not_running', hint: 'Start another one: createTestEngine(config).' },
    });
    await expect(t.run('buyer')).rejects.toMatchObject({ code: 'engine_not_running' });
  });
});
