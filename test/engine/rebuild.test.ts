import { Agent, tool } from '@openai/agents';
import type { Knex } from 'knex';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { z } from 'zod';
import { sha256 } from '../../src/core/json.js';
import { defineAgent, defineTool, type RunView, waitFor } from '../../src/index.js';
import { describeEachDatabaseSlowly } from '../harness/database.js';
import { ADMIN, BOB, openTestEngine, type TestEngine } from '../harness/engine.js';
import { call, scripted } from '../harness/script.js';

/** The saved state of a run is a cache: deleted, damaged or foreign, it is made again from the log, and equals what was lost. */

let did: string[] = [];
let guarded = 0;
let hangs = 0;

const input = z.object({ n: z.number() });
const output = z.object({ done: z.string() });

const look = defineTool({
  ...{ name: 'look', description: 'Looks.', input, output, effect: 'pure' },
  execute: ({ n }) => {
    did.push(`look ${n}`);
    return { done: `look ${n}` };
  },
});
const pay = defineTool({
  ...{ name: 'pay', description: 'Pays.', input, output, effect: 'unsafe', timeoutMs: 60 },
  approval: ({ n }) => n > 10 && `${n} is much`,
  execute: async ({ n }, { signal }) => {
    did.push(`pay ${n}`);
    if (hangs-- > 0)
      await new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('late'))));
    return { done: `pay ${n}` };
  },
});
const plain = tool({
  name: 'plain',
  description: 'A tool of a plain SDK program.',
  parameters: input,
  needsApproval: async (_context, { n }) => n > 10,
  inputGuardrails: [
    {
      name: 'no sevens',
      run: async ({ toolCall }) => {
        guarded++;
        return toolCall.arguments.includes('7')
          ? { behavior: { type: 'rejectContent' as const, message: 'No sevens.' } }
          : { behavior: { type: 'allow' as const } };
      },
    },
  ],
  execute: async ({ n }) => {
    did.push(`plain ${n}`);
    return `plain ${n}`;
  },
});

const question = defineTool({
  ...{ name: 'question', description: 'Asks.', input, output: z.string(), effect: 'unsafe' },
  execute: ({ n }) => {
    did.push(`question ${n}`);
    return waitFor({ kind: 'question', text: 'Which?' });
  },
});
/** An agent behind a tool that is suspended in the middle of its work. */
const clerk = new Agent({
  name: 'clerk',
  model: scripted([[call('look', { n: 5 }, 'k1'), call('question', { n: 6 }, 'k2')]]),
  tools: [look, question],
}).asTool({ toolName: 'clerk', toolDescription: 'Does the work of a clerk.' });

const tools = [look, pay, plain, question, clerk];
const grants = ['tool:call:*'];
const wait = call('pay', { n: 99 }, 'wait');
const agent = (name: string, outputs: Parameters<typeof scripted>[0]) =>
  defineAgent({ agent: new Agent({ name, model: scripted(outputs), tools }), grants });

const desk = new Agent({
  name: 'desk',
  model: scripted([[call('look', {}, 'h1')], [call('look', {}, 'h2')], [call('look', { n: 1 }, 'd1')], [wait]]),
  tools,
});

const config = {
  turnsPerSegment: 2,
  agents: [
    agent('approvals', [
      [call('pay', { n: 20 }, 'a'), call('pay', { n: 30 }, 'b'), call('look', { n: 1 }, 'c')],
      [call('look', { n: 2 }, 'd')],
      [wait],
    ]),
    agent('parallel', [
      [call('plain', { n: 1 }, 'a'), call('plain', { n: 7 }, 'b'), call('plain', { n: 20 }, 'c')],
      [call('look', { n: 'x' }, 'd')],
      [call('look', { n: 3 }, 'a')],
      [call('look', '{broken', 'f')],
      [wait],
    ]),
    agent('unknown', [[call('pay', { n: 20 }, 'p'), call('pay', { n: 1 }, 's'), call('look', { n: 1 }, 'l')], [wait]]),
    agent('asking', [
      [call('question', { n: 1 }, 'q'), call('look', { n: 1 }, 'l')],
      [call('clerk', { input: 'Work.' }, 'c'), call('look', { n: 2 }, 'm')],
      [wait],
    ]),
    defineAgent({
      agent: Agent.create({
        name: 'handing',
        model: scripted([[call('look', { n: 1 }, 'h1')], [call('transfer_to_desk', {}, 'h2')]]),
        tools,
        handoffs: [desk],
      }),
      grants,
    }),
  ],
};

const DAMAGES = ['deleted', 'damaged', 'foreign', 'deleted', 'deleted'] as const;
const NAMES = ['approvals', 'parallel', 'unknown', 'handing', 'asking'] as const;

describeEachDatabaseSlowly('a saved state', (kind) => {
  let t: TestEngine;
  beforeAll(async () => {
    t = await openTestEngine(kind, config);
  });
  afterAll(() => t.close());

  const rest = (id: string) => t.engine.getRun(id, ADMIN, { waitMs: 20_000 });

  const decideAll = async (runId: string) => {
    const { items } = await t.engine.listInterruptions({ status: 'pending', runId, limit: 10 }, BOB);
    for (const { id, reason, callId } of items) {
      if (reason.code === 'question') await t.engine.decide(id, { verdict: 'answer', value: 'This.' }, BOB);
      else if (reason.code === 'unknown_effect')
        await t.engine.decide(id, { verdict: 'answer', value: { done: 'by hand' } }, BOB);
      else if (callId === 'b') await t.engine.decide(id, { verdict: 'reject', message: 'No.' }, BOB);
      else await t.engine.decide(id, { verdict: 'approve' }, BOB);
    }
    return items;
  };

  /** Starts a run and decides for it until it waits for its last call. */
  const lastPause = async (name: string) => {
    hangs = name === 'unknown' ? 1 : 0;
    const { id } = await t.engine.startRun({ agent: name, input: 'go' }, ADMIN);
    for (;;) {
      const run = await rest(id);
      const { items } = await t.engine.listInterruptions({ status: 'pending', runId: id, limit: 10 }, BOB);
      if (items.some(({ callId }) => callId === 'wait')) return run;
      if (run.status !== 'paused') throw new Error(`${name} is ${run.status}: ${JSON.stringify(run.error)}`);
      await decideAll(id);
    }
  };

  /** Damages the snapshot that a paused run goes on from, and gives what it was. */
  const damage = async (knex: Knex, runId: string, segment: number, how: (typeof DAMAGES)[number]): Promise<string> => {
    const row = () => knex('holdfast.snapshots').where({ run_id: runId, segment });
    const { state } = await row().first('state');
    if (how === 'deleted') await row().delete();
    if (how === 'damaged') await row().update({ state: `${state} ` });
    const foreign = state.replace(/"\$schemaVersion":"[^"]*"/, '"$schemaVersion":"9.99"');
    if (how === 'foreign') await row().update({ state: foreign, digest: sha256(foreign) });
    return state;
  };

  it('that is deleted, damaged or foreign is made again as it was, and nothing runs twice', {
    timeout: 300_000,
  }, async () => {
    const paused: RunView[] = [];
    for (const name of NAMES) paused.push(await lastPause(name));
    const outputs = [];
    for (const name of NAMES) {
      const { id } = await lastPause(name);
      await decideAll(id);
      outputs.push((await rest(id)).output);
    }
    const lost = await t.between(async (knex) => {
      const states = [];
      for (const [index, { id, segment }] of paused.entries())
        states.push(await damage(knex, id, segment, DAMAGES[index] ?? 'deleted'));
      return states;
    });
    did = [];
    guarded = 0;
    for (const [index, { id }] of paused.entries()) {
      await decideAll(id);
      expect(await rest(id)).toMatchObject({ status: 'completed', output: outputs[index] });
      expect(await t.engine.verifyRun(id, ADMIN)).toMatchObject({ ok: true, complete: true });
    }
    expect(did).toEqual(Array(5).fill('pay 99'));
    expect(guarded).toBe(0);
    const rebuilt = await t.between(async (knex) => {
      const states = [];
      for (const { id, segment } of paused)
        states.push((await knex('holdfast.snapshots').where({ run_id: id, segment }).first('state')).state);
      return states;
    });
    for (const [index, state] of rebuilt.entries())
      expect(JSON.parse(state), NAMES[index]).toEqual(JSON.parse(lost[index] ?? ''));
  });
});
