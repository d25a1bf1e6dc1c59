import { Agent } from '@openai/agents';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { defineAgent, defineTool } from '../../../src/index.js';
import { describeEachDatabase } from '../../harness/database.js';
import { ADMIN, decideAndRest, engineFor, runToRest } from '../../harness/engine.js';
import { call, scripted } from '../../harness/script.js';

/** Agents whose run ends with the result of a tool: a call that waits has none yet. */

const shape = { input: z.object({}), output: z.string(), description: 'Does something.' };
const sent: string[] = [];
const send = defineTool({
  name: 'send',
  ...shape,
  effect: 'unsafe',
  timeoutMs: 60,
  execute: (_input, { signal }) => {
    sent.push('send');
    return new Promise<string>((_, reject) => signal.addEventListener('abort', () => reject(new Error('stopped'))));
  },
});
const look = defineTool({ name: 'look', ...shape, effect: 'pure', execute: () => 'looked' });
const pay = defineTool({ name: 'pay', ...shape, effect: 'unsafe', approval: true, execute: () => 'paid' });

const seen: string[] = [];
const stopping = (name: string, behavior: Agent['toolUseBehavior'], names: readonly string[]) =>
  defineAgent({
    agent: new Agent({
      name,
      tools: [send, look, pay],
      toolUseBehavior: behavior,
      outputGuardrails: [
        {
          name: 'seen',
          execute: async ({ agentOutput }) => {
            seen.push(String(agentOutput));
            return { tripwireTriggered: false, outputInfo: null };
          },
        },
      ],
      model: scripted([names.map((tool) => call(tool, {}))]),
    }),
    grants: ['tool:call:*'],
  });

const config = {
  agents: [
    stopping('first', 'stop_on_first_tool', ['look']),
    stopping('asked', 'stop_on_first_tool', ['pay', 'look']),
    stopping('doubt', 'stop_on_first_tool', ['send']),
    stopping('named', { stopAtToolNames: ['send'] }, ['look', 'send']),
    stopping(
      'custom',
      (_context, [one]) => ({ isFinalOutput: true, finalOutput: String(one?.type), isInterrupted: undefined }),
      ['send'],
    ),
  ],
};

describeEachDatabase('tools that end a run', (kind) => {
  const t = engineFor(kind, config);

  it('end it with their result, also after an approval', async () => {
    expect(await runToRest(t.engine, 'first')).toMatchObject({ status: 'completed', output: 'looked' });
    const paused = await runToRest(t.engine, 'asked');
    expect(paused.status).toBe('paused');
    expect(await decideAndRest(t.engine, paused.id, { verdict: 'approve' })).toMatchObject({
      status: 'completed',
      output: 'paid',
    });
  });

  it.each(['doubt', 'named', 'custom'])('do not end it while their call is in doubt: %s', async (agent) => {
    seen.length = 0;
    sent.length = 0;
    const paused = await runToRest(t.engine, agent);
    expect(paused).toMatchObject({ status: 'paused', output: null });
    expect(seen).toEqual([]);
    const done = await decideAndRest(t.engine, paused.id, { verdict: 'answer', value: 'seen in the outbox' });
    expect(done).toMatchObject({
      status: 'completed',
      output: expect.stringContaining('call_send=seen in the outbox'),
    });
    expect(sent).toEqual(['send']);
    expect(await t.engine.verifyRun(paused.id, ADMIN)).toMatchObject({ ok: true, complete: true });
  });
});
