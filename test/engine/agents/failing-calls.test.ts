import { Agent, Runner, tool } from '@openai/agents';
import { beforeEach, expect, it } from 'vitest';
import { z } from 'zod';
import { defineAgent, defineTool } from '../../../src/index.js';
import { describeEachDatabase } from '../../harness/database.js';
import { ADMIN, engineFor, eventsOf, runToRest } from '../../harness/engine.js';
import { call, scripted } from '../../harness/script.js';
import { SLOW } from '../../harness/slow.js';

/** Calls whose failure is more than a text for the model: it ends the run, and stops what works beside them. */

const ran: string[] = [];
const shape = { description: 'Does something.', input: z.object({}), output: z.string() };

/** Works until it is stopped. */
const patient = (name: string, effect: 'pure' | 'unsafe') =>
  defineTool({
    ...{ name, ...shape, effect },
    execute: (_input, { signal }) =>
      new Promise<string>((resolve) => {
        ran.push(`${name} begins`);
        signal.addEventListener('abort', () => {
          ran.push(`${name} is stopped`);
          resolve('too late');
        });
      }),
  });

const strict = defineTool({
  ...{ name: 'strict', ...shape, effect: 'pure', onFailure: 'fail' },
  execute: async () => {
    while (!ran.includes('loud begins')) await new Promise((resolve) => setTimeout(resolve, 10));
    throw new Error('the ledger is locked');
  },
});
const late = defineTool({
  ...{ name: 'late', ...shape, effect: 'pure', onFailure: 'fail', timeoutMs: 50 },
  execute: () => new Promise<string>(() => {}),
});
/** Holds the process for longer than it may take, and then comes back with something. */
const holding = (name: string, effect: 'pure' | 'unsafe', timeoutMs = 20, heldMs = 60) =>
  defineTool({
    ...{ name, ...shape, effect, timeoutMs },
    execute: () => {
      const until = performance.now() + heldMs;
      while (performance.now() < until);
      return 'came back';
    },
  });
const plain = (name: string, errorFunction: null | (() => string)) =>
  tool({
    ...{ name, description: 'Fails.', parameters: z.object({}), errorFunction },
    execute: async (): Promise<string> => {
      throw new Error('the disk is full');
    },
  });
const raises = plain('raises', null);
const tells = plain('tells', () => 'it failed, quietly');
const look = tool({ name: 'look', description: 'Looks.', parameters: z.object({}), execute: async () => 'seen' });

const inner = (outputs: Parameters<typeof scripted>[0]) =>
  new Agent({ name: 'inner', model: scripted(outputs), tools: [raises, look] }).asTool({
    toolName: 'ask_inner',
    toolDescription: 'Asks.',
  });
const nested = new Agent({
  name: 'nested',
  model: scripted([[call('ask_inner', { input: 'go' })]]),
  tools: [inner([[call('raises', {}, 'r'), call('look', {}, 'l')]])],
});

const agent = (name: string, calls: readonly string[], tools: Agent['tools']) =>
  defineAgent({
    agent: new Agent({ name, model: scripted([calls.map((one) => call(one, {}))]), tools: [...tools] }),
    grants: ['tool:call:*'],
  });
const still = patient('quiet', 'pure');
const loud = patient('loud', 'unsafe');

describeEachDatabase('calls that fail', (kind) => {
  const warned: object[] = [];
  const quiet = (): void => {};
  const t = engineFor(kind, {
    log: { debug: quiet, info: quiet, warn: (fields) => void warned.push(fields), error: quiet },
    agents: [
      agent('strict', ['quiet', 'strict', 'loud'], [strict, still, loud]),
      agent('late', ['late'], [late]),
      agent('blocking', ['blocks'], [holding('blocks', 'pure', 10_000, 1600)]),
      agent('holding', ['holding'], [holding('holding', 'pure')]),
      agent('holding unsafely', ['holding'], [holding('holding', 'unsafe')]),
      agent('raises', ['quiet', 'raises'], [raises, still]),
      agent('tells', ['tells'], [tells]),
      agent('agent beside', ['ask_inner', 'raises'], [inner([[call('look', {})]]), raises]),
      defineAgent({ agent: nested, grants: ['tool:call:*'] }),
    ],
  });
  beforeEach(() => {
    ran.length = 0;
  });

  const ends = async (runId: string) =>
    (await eventsOf(t.engine, runId)).flatMap(({ kind: one, data }) => {
      const { tool: name, outcome } = data as { tool?: string; outcome?: { type: string; why?: string } };
      if (one === 'call.unknown') return [`${name} unknown`];
      return one === 'call.finished' ? [`${name} ${outcome?.why ?? outcome?.type}`] : [];
    });

  it('end the run where their tool says so, and what works beside them is stopped', async () => {
    const run = await runToRest(t.engine, 'strict');
    expect(run).toMatchObject({
      ...{ status: 'failed', turns: 1 },
      error: { code: 'tool_failed', message: 'strict failed: the ledger is locked' },
    });
    expect(ran.toSorted()).toEqual(['loud begins', 'loud is stopped', 'quiet begins', 'quiet is stopped']);
    // No one knows what an unsafe call had done when it was stopped, and the log says so.
    expect(await ends(run.id)).toEqual(['quiet cancelled', 'strict error', 'loud unknown']);
    expect(await t.engine.verifyRun(run.id, ADMIN)).toMatchObject({ ok: true, complete: true });
    expect(await runToRest(t.engine, 'late')).toMatchObject({ status: 'failed', error: { code: 'tool_timeout' } });
  });

  it('that held the process and came back after their time have not ended in it', async () => {
    const run = await runToRest(t.engine, 'holding');
    expect(run).toMatchObject({ status: 'completed', output: expect.stringContaining('did not end within 20 ms') });
    const [{ data } = { data: null }] = await eventsOf(t.engine, run.id, 'call.finished');
    expect(data).toMatchObject({ outcome: { type: 'error', code: 'tool_timeout' } });
    const unsafe = await runToRest(t.engine, 'holding unsafely');
    expect(unsafe).toMatchObject({ status: 'paused' });
    expect(await ends(unsafe.id)).toEqual(['holding unknown']);
  });

  it.runIf(SLOW)('that hold the process are named in health, in the metrics and in the log', async () => {
    const run = await runToRest(t.engine, 'blocking');
    const named = { event: 'loop_held', runId: run.id, tool: 'blocks', callId: 'call_blocks' };
    await expect.poll(() => warned).toContainEqual(expect.objectContaining(named));
    expect(await t.engine.health()).toMatchObject({
      ...{
        status: 'warn',
        checks: { loop: { status: 'warn', detail: expect.stringContaining('by the tool blocks') } },
      },
    });
    const { text } = await t.engine.metrics(ADMIN);
    expect(text).toMatch(/^holdfast_event_loop_held_seconds_total\{tool="blocks"\} 1\.\d+$/m);
  });

  it('of plain tools end it as in the SDK: only without an errorFunction', async () => {
    const run = await runToRest(t.engine, 'raises');
    expect(run).toMatchObject({ status: 'failed', error: { code: 'tool_raised' } });
    expect(run.error?.message).toContain('the disk is full');
    expect(ran).toEqual(['quiet begins', 'quiet is stopped']);
    const alone = new Agent({ name: 'alone', model: scripted([[call('raises', {})]]), tools: [raises] });
    await expect(new Runner({ tracingDisabled: true }).run(alone, 'go')).rejects.toThrow('the disk is full');
    expect(await runToRest(t.engine, 'tells')).toMatchObject({
      ...{ status: 'completed', output: 'call_tells=it failed, quietly' },
    });
  });

  it('keep an agent as a tool beside them from its work', async () => {
    const run = await runToRest(t.engine, 'agent beside');
    expect(run).toMatchObject({ status: 'failed', turns: 1, error: { code: 'tool_raised' } });
    expect(await ends(run.id)).toEqual(['ask_inner cancelled', 'raises error']);
  });

  it('inside an agent as a tool end that agent, and its caller reads so, as in the SDK', async () => {
    const run = await runToRest(t.engine, 'nested');
    expect(run.status).toBe('completed');
    expect(run.output).toContain('An error occurred');
    const { finalOutput } = await new Runner({ tracingDisabled: true }).run(nested, 'go');
    expect(run.output).toBe(finalOutput);
    expect(await ends(run.id)).toEqual(['raises error', 'look output', 'ask_inner output']);
  });
});
