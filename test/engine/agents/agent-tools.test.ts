import { Agent, tool } from '@openai/agents';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { z } from 'zod';
import { defineAgent, defineTool, type HoldfastConfig } from '../../../src/index.js';
import { describeEachDatabase } from '../../harness/database.js';
import {
  ADMIN,
  dataOf,
  decideAndRest,
  kindsOf,
  openTestEngine,
  restOf,
  runToRest,
  type TestEngine,
} from '../../harness/engine.js';
import { call, scripted } from '../../harness/script.js';
import { SLOW } from '../../harness/slow.js';

/** Agents as tools (`asTool()`): they work inside the run of their caller, and wait, crash and go on with it. */

const done: string[] = [];
const parameters = z.object({});

const look = tool({
  name: 'look',
  description: 'Looks.',
  parameters,
  execute: async (_input, _context, details) => {
    done.push(`look ${details?.toolCall?.callId}`);
    return 'seen';
  },
});
const pay = defineTool({
  name: 'pay',
  description: 'Pays.',
  input: z.object({ n: z.number() }),
  output: z.string(),
  effect: 'unsafe',
  approval: ({ n }) => `Pay ${n}?`,
  execute: ({ n }) => {
    done.push(`pay ${n}`);
    return `paid ${n}`;
  },
});
/** Ends in doubt: it works longer than it may. */
const send = defineTool({
  name: 'send',
  description: 'Sends.',
  input: parameters,
  output: z.string(),
  effect: 'unsafe',
  timeoutMs: 60,
  execute: (_input, { signal }) =>
    new Promise<string>((_, reject) => signal.addEventListener('abort', () => reject(new Error('stopped')))),
});

/** A plain tool of the SDK that brings a method `on`. */
const emitter = Object.assign(
  tool({
    name: 'emitter',
    description: 'Emits.',
    parameters,
    execute: async () => {
      done.push('emit');
      return 'emitted';
    },
  }),
  { on: () => undefined },
);

let hangs = 0;
const hang = defineTool({
  name: 'hang',
  description: 'Hangs once.',
  input: parameters,
  output: z.string(),
  effect: 'pure',
  execute: () => (hangs++ === 0 ? new Promise<never>(() => undefined) : 'came back'),
});

const asTool = (toolName: string, agent: Agent, more: { needsApproval?: boolean } = {}) =>
  agent.asTool({ toolName, toolDescription: `Asks ${agent.name}.`, ...more });
const input = { input: 'go' };

const looker = new Agent({
  name: 'looker',
  tools: [look],
  model: scripted([[call('look', {}, 'call_1')], [call('look', {}, 'call_1')]]),
});
const payer = new Agent({ name: 'payer', tools: [pay], model: scripted([[call('pay', { n: 1 })]]) });
const sender = new Agent({ name: 'sender', tools: [send], model: scripted([[call('send', {})]]) });
const hanger = new Agent({
  name: 'hanger',
  tools: [hang, look],
  model: scripted([[call('look', {})], [call('hang', {})]]),
});
const manager = new Agent({
  name: 'manager',
  tools: [asTool('ask_payer', payer), look],
  model: scripted([[call('ask_payer', input), call('look', {})]]),
});

const agent = (name: string, tools: Agent['tools'], outputs: Parameters<typeof scripted>[0]) =>
  defineAgent({ agent: new Agent({ name, tools, model: scripted(outputs) }), grants: ['tool:call:*'] });

const config: HoldfastConfig = {
  agents: [
    agent('two', [asTool('ask_looker', looker)], [[call('ask_looker', input, 'a')], [call('ask_looker', input, 'b')]]),
    agent(
      'parallel',
      [asTool('ask_looker', looker), asTool('ask_payer', payer), look],
      [[call('ask_payer', input, 'a'), call('look', {}, 'l'), call('ask_looker', input, 'b')]],
    ),
    agent('gated', [asTool('ask_looker', looker, { needsApproval: true })], [[call('ask_looker', input)]]),
    agent('doubt', [asTool('ask_sender', sender)], [[call('ask_sender', input)]]),
    agent('deep', [asTool('ask_manager', manager)], [[call('ask_manager', input)]]),
    agent('both', [asTool('ask_payer', payer), pay], [[call('ask_payer', input), call('pay', { n: 2 }, 'mine')]]),
    agent('crashing', [asTool('ask_hanger', hanger)], [[call('ask_hanger', input)]]),
    agent('emits', [emitter], [[call('emitter', {})]]),
    agent('denied', [asTool('ask_looker', looker)], [[call('ask_looker', input)]]),
  ],
};

describeEachDatabase('agents as tools', (kind) => {
  let test: TestEngine;
  beforeAll(async () => {
    hangs = 0;
    test = await openTestEngine(kind, config);
  });
  afterAll(() => test.close());

  const verified = async (id: string) =>
    expect(await test.engine.verifyRun(id, ADMIN)).toMatchObject({ ok: true, complete: true });

  it('works with calls of one id kept apart', async () => {
    done.length = 0;
    const run = await runToRest(test.engine, 'two');
    expect(run).toMatchObject({ status: 'completed', turns: 9 });
    expect(String(run.output).replaceAll(/call_1\w*/g, 'call_1')).toBe(
      'a=call_1=seen | call_1=seen | b=call_1=seen | call_1=seen',
    );
    expect(done).toHaveLength(4);
    expect(new Set(done).size).toBe(4);
    await verified(run.id);
  });

  it('is told from a plain tool that has a method `on`, whose call is judged as every other', async () => {
    const run = await runToRest(test.engine, 'emits');
    expect(run).toMatchObject({ status: 'completed', output: 'call_emitter=emitted' });
    expect(await dataOf(test.engine, run.id, 'call.started')).toMatchObject([{ tool: 'emitter', effect: 'unsafe' }]);
    await verified(run.id);
  });

  it('waits for approvals inside, and its siblings do not run again', async () => {
    done.length = 0;
    const paused = await runToRest(test.engine, 'parallel');
    expect(paused).toMatchObject({ status: 'paused' });
    expect(done).toEqual(['look l']);
    const run = await decideAndRest(test.engine, paused.id, { verdict: 'approve' });
    expect(run).toMatchObject({ status: 'completed' });
    expect(run.output).toMatch(/^a=call_pay\w+=paid 1 \| l=seen \| b=call_1\w+=seen \| call_1\w+=seen$/);
    expect(done.filter((one) => one.startsWith('pay'))).toEqual(['pay 1']);
    expect(done.filter((one) => one.startsWith('look'))).toHaveLength(3);
    await verified(run.id);
  });

  it('is approved itself, then works', async () => {
    const paused = await runToRest(test.engine, 'gated');
    const { items } = await test.engine.listInterruptions({ status: 'pending', runId: paused.id, limit: 9 }, ADMIN);
    expect(items).toMatchObject([{ tool: 'ask_looker', agent: 'gated' }]);
    const run = await decideAndRest(test.engine, paused.id, { verdict: 'approve' });
    expect(run).toMatchObject({ status: 'completed' });
    await verified(run.id);
  });

  it('a rejection inside is what the inner agent reads', async () => {
    const paused = await runToRest(test.engine, 'deep');
    expect(await kindsOf(test.engine, paused.id)).toContain('run.paused');
    const run = await decideAndRest(test.engine, paused.id, { verdict: 'reject', message: 'Not today.' });
    expect(run).toMatchObject({ status: 'completed' });
    expect(run.output).toMatch(/ask_payer\w*=call_pay\w*=Not today\. \| call_look\w*=seen/);
    await verified(run.id);
  });

  it('a call in doubt inside asks, and its answer reaches the inner agent', async () => {
    const paused = await runToRest(test.engine, 'doubt');
    const { items } = await test.engine.listInterruptions({ status: 'pending', runId: paused.id, limit: 9 }, ADMIN);
    expect(items).toMatchObject([{ tool: 'send', agent: 'sender', reason: { code: 'unknown_effect' } }]);
    await test.restart();
    const run = await decideAndRest(test.engine, paused.id, { verdict: 'answer', value: 'was sent' });
    expect(run.output).toMatch(/^call_ask_sender=call_send\w+=was sent$/);
    await verified(run.id);
  });

  it('outer and inner approvals of one response are decided in any order', async () => {
    done.length = 0;
    const paused = await runToRest(test.engine, 'both');
    const { items } = await test.engine.listInterruptions({ status: 'pending', runId: paused.id, limit: 9 }, ADMIN);
    expect(items.map((item) => item.agent).sort()).toEqual(['both', 'payer']);
    for (const item of items.toReversed()) await test.engine.decide(item.id, { verdict: 'approve' }, ADMIN);
    const run = await restOf(test.engine, paused.id);
    expect(run).toMatchObject({ status: 'completed' });
    expect(run.output).toMatch(/^call_ask_payer=call_pay\w+=paid 1 \| mine=paid 2$/);
    expect(done.toSorted()).toEqual(['pay 1', 'pay 2']);
    await verified(run.id);
  });

  it.runIf(SLOW)('a process that stops inside the inner agent goes on there', async () => {
    done.length = 0;
    const { id } = await test.engine.startRun({ agent: 'crashing', input: 'go' }, ADMIN);
    for (let tries = 0; hangs === 0 && tries < 800; tries++) await new Promise((resolve) => setTimeout(resolve, 25));
    await test.restart();
    const run = await restOf(test.engine, id);
    expect(run).toMatchObject({ status: 'completed' });
    expect(run.output).toMatch(/^call_ask_hanger=call_look\w+=seen \| call_hang\w+=came back$/);
    expect(done).toHaveLength(1);
    await verified(id);
  });

  it.runIf(SLOW)('a run that is cut after every turn goes on inside', async () => {
    const engine = await test.restart({ turnsPerSegment: 1 });
    done.length = 0;
    const run = await runToRest(engine, 'two');
    expect(run).toMatchObject({ status: 'completed', turns: 9 });
    expect(done).toHaveLength(4);
    const paused = await runToRest(engine, 'deep');
    const decided = await decideAndRest(engine, paused.id, { verdict: 'approve' });
    expect(decided.output).toMatch(/paid 1/);
    await verified(run.id);
    await verified(decided.id);
  });

  it('what the inner agent was not granted stops the run', async () => {
    const run = await test.engine.startRun({ agent: 'denied', input: 'go', grants: ['tool:call:ask_looker'] }, ADMIN);
    expect(await restOf(test.engine, run.id)).toMatchObject({
      status: 'failed',
      error: { code: 'capability_denied' },
    });
  });
});
