import { Agent, handoff, run, tool } from '@openai/agents';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { z } from 'zod';
import { defineAgent, defineTool, functionModel, type HoldfastConfig } from '../../../src/index.js';
import { type DatabaseKind, describeEachDatabase } from '../../harness/database.js';
import { ADMIN, eventsOf, openTestEngine, restOf, runToRest, type TestEngine } from '../../harness/engine.js';
import { call, say, scripted } from '../../harness/script.js';
import { SLOW } from '../../harness/slow.js';

/** Callbacks that steer an agent: each is heard once per run, whatever dies, and what it said stands. */

const heard: string[] = [];
const hear = (what: string): number => heard.push(what);
const times = (what: string): number => heard.filter((one) => one === what).length;

/** Hangs at its first execution until its process stops, and ends at the second. */
let executions = 0;
const hold = defineTool({
  name: 'hold',
  description: 'Takes its time.',
  input: z.object({}),
  output: z.string(),
  effect: 'pure',
  execute: async () => {
    executions++;
    if (executions === 1) await new Promise(() => undefined);
    return 'held';
  },
});

const judge = new Agent({
  name: 'judge',
  instructions: 'Say yes or no.',
  model: functionModel('judge', async () => {
    hear('judge');
    return [say('yes')];
  }),
});

const plain = (name: string, output: string) =>
  tool({
    name,
    description: `Is ${name}.`,
    parameters: z.object({}),
    execute: async () => output,
    isEnabled: () => {
      hear(`isEnabled ${name}`);
      // Says something else each time: only the first counts, until the next turn.
      return times(`isEnabled ${name}`) % 2 === 1;
    },
    outputGuardrails: [
      {
        name: 'no secrets',
        run: async ({ output: given }) => {
          hear(`output guardrail ${name}`);
          return {
            outputInfo: null,
            behavior: String(given).includes('secret')
              ? { type: 'rejectContent', message: 'This was kept back.' }
              : { type: 'allow' },
          };
        },
      },
    ],
  });

const end = new Agent({
  name: 'end',
  instructions: () => `You are the end; ${hear('instructions')}.`,
  tools: [hold],
  model: scripted([[call('leak', {})], [call('go_on', {})], [call('hold', {})]]),
  toolUseBehavior: (_context, results) => {
    hear('tool use');
    const [result] = results;
    return result?.type === 'function_output' && result.output === 'held'
      ? { isFinalOutput: true, isInterrupted: undefined, finalOutput: 'ended by the tool' }
      : { isFinalOutput: false, isInterrupted: undefined };
  },
  outputGuardrails: [
    {
      name: 'fine',
      execute: async () => {
        hear('output guardrail');
        return { tripwireTriggered: false, outputInfo: { fine: true } };
      },
    },
  ],
});

const start = new Agent({
  name: 'start',
  tools: [plain('leak', 'the secret is 42')],
  handoffs: [
    handoff(end, {
      toolNameOverride: 'go_on',
      onHandoff: () => {
        hear('onHandoff');
      },
      isEnabled: () => hear('isEnabled handoff') > 0,
    }),
  ],
  inputGuardrails: [
    {
      name: 'judged',
      runInParallel: true,
      execute: async () => {
        hear('input guardrail');
        const { finalOutput } = await run(judge, 'Is it fine?');
        return { tripwireTriggered: finalOutput !== 'yes', outputInfo: finalOutput };
      },
    },
  ],
  model: scripted([[call('leak', {})], [call('go_on', {})]]),
});

const guardrailed = (name: string, execute: () => Promise<{ tripwireTriggered: boolean; outputInfo: unknown }>) =>
  defineAgent({
    agent: new Agent({
      name,
      inputGuardrails: [{ name: 'stop', execute }],
      model: functionModel('never', async () => {
        hear(`model of ${name}`);
        return [say('no')];
      }),
    }),
    grants: [],
  });

const tripping = tool({
  name: 'tripping',
  description: 'Ends the run.',
  parameters: z.object({}),
  execute: async () => 'poison',
  outputGuardrails: [{ name: 'poisoned', run: async () => ({ behavior: { type: 'throwException' } }) }],
});

const withTools = new Agent({ name: 'with tools', tools: [hold], model: scripted([]) });

const config: HoldfastConfig = {
  agents: [
    defineAgent({ agent: start, grants: ['tool:call:*'] }),
    guardrailed('trips', async () => ({ tripwireTriggered: true, outputInfo: 'no refunds' })),
    guardrailed('throws', async () => {
      throw new Error('the judge is out');
    }),
    guardrailed('vague', async () => 'fine' as never),
    guardrailed('unguarded', async () => {
      await run(withTools, 'go');
      return { tripwireTriggered: false, outputInfo: null };
    }),
    defineAgent({
      agent: new Agent({ name: 'poisoned', tools: [tripping], model: scripted([[call('tripping', {})]]) }),
      grants: ['tool:call:*'],
    }),
  ],
};

describeEachDatabase('callbacks', (kind: DatabaseKind) => {
  let test: TestEngine;
  beforeAll(async () => {
    heard.length = 0;
    executions = 0;
    test = await openTestEngine(kind, config);
  });
  afterAll(() => test.close());

  it.runIf(SLOW)('are heard once, also by a run whose process stops midway', async () => {
    const { id } = await test.engine.startRun({ agent: 'start', input: 'go' }, ADMIN);
    await vi.waitFor(() => expect(executions).toBe(1), { timeout: 20_000 });
    const before = [...heard];
    expect(before).toEqual([
      ...['input guardrail', 'judge', 'isEnabled handoff', 'isEnabled leak', 'output guardrail leak'],
      ...['isEnabled handoff', 'isEnabled leak', 'onHandoff', 'instructions'],
    ]);
    await test.restart();
    const run = await restOf(test.engine, id);
    expect(run).toMatchObject({ status: 'completed', output: 'ended by the tool', error: null });
    expect(heard.slice(before.length)).toEqual(['tool use', 'output guardrail']);
    expect(await test.engine.verifyRun(id, ADMIN)).toMatchObject({ ok: true, complete: true });
    const items = await eventsOf(test.engine, id);
    expect(items.find((event) => event.kind === 'call.finished')?.data).toMatchObject({
      outcome: { type: 'error', code: 'guardrail_rejected', message: 'This was kept back.' },
    });
  });

  it.each([
    ['trips', 'guardrail_tripped', /no refunds/],
    ['throws', 'guardrail_failed', /the judge is out/],
    ['vague', 'guardrail_failed', /did not say whether/],
    ['unguarded', 'guardrail_failed', /has tools and would run inside/],
  ])('an input guardrail that %s ends the run before its model is asked', async (agent, code, message) => {
    const run = await runToRest(test.engine, agent);
    expect(run).toMatchObject({ status: 'failed', error: { code } });
    expect(run.error?.message).toMatch(message);
    expect(times(`model of ${agent}`)).toBe(0);
  });

  it('an output guardrail of a tool ends the run by what the tool gave', async () => {
    const run = await runToRest(test.engine, 'poisoned');
    expect(run).toMatchObject({ status: 'failed', error: { code: 'guardrail_tripped' } });
  });
});
