import { Agent } from '@openai/agents';
import { beforeEach, expect, it } from 'vitest';
import { z } from 'zod';
import { defineAgent, defineTool, functionModel } from '../../../src/index.js';
import { describeEachDatabase } from '../../harness/database.js';
import { ADMIN, decideAndRest, engineFor, runToRest } from '../../harness/engine.js';
import { call, resultsIn, say, scripted } from '../../harness/script.js';

/** A segment may end right after a handoff: its state is that of the new agent, its last response that of the old one. */

let sent: string[] = [];

const send = defineTool({
  name: 'send',
  description: 'Sends, and does not come back.',
  input: z.object({ to: z.string() }),
  output: z.string(),
  effect: 'unsafe',
  timeoutMs: 60,
  execute: ({ to }, { signal }) => {
    sent.push(to);
    return new Promise<string>((_, reject) => signal.addEventListener('abort', () => reject(new Error('stopped'))));
  },
});

const desk = (name: string) =>
  new Agent({
    name,
    model: functionModel(name, (request) => [
      say(
        `${name}: ${resultsIn(request.input)
          .map(({ callId, text }) => `${callId}=${text}`)
          .join(' | ')}`,
      ),
    ]),
  });

const handing = (name: string, outputs: Parameters<typeof scripted>[0]) =>
  defineAgent({
    agent: Agent.create({ name, model: scripted(outputs), tools: [send], handoffs: [desk('desk')] }),
    grants: ['tool:call:*'],
  });

const config = {
  turnsPerSegment: 1,
  agents: [
    handing('plain', [[call('transfer_to_desk', {}, 'h')]]),
    handing('in_doubt', [[call('send', { to: 'ann' }, 's'), call('transfer_to_desk', {}, 'h')]]),
  ],
};

describeEachDatabase('handoffs', (kind) => {
  const t = engineFor(kind, config);
  beforeEach(() => {
    sent = [];
  });

  it('a run that is cut right after a handoff goes on with the new agent', async () => {
    const done = await runToRest(t.engine, 'plain');
    expect(done).toMatchObject({ status: 'completed', segment: 1, output: expect.stringContaining('desk: h=') });
    expect(await t.engine.verifyRun(done.id, ADMIN)).toMatchObject({ ok: true, complete: true });
  });

  it('a call in doubt beside a handoff is settled by the tools of its own agent', async () => {
    const paused = await runToRest(t.engine, 'in_doubt');
    expect(paused.status).toBe('paused');
    const again = await decideAndRest(t.engine, paused.id, { verdict: 'approve' });
    expect(again).toMatchObject({ status: 'paused', segment: 2 });
    expect(sent).toEqual(['ann', 'ann']);
    const done = await decideAndRest(t.engine, paused.id, { verdict: 'answer', value: 'seen' });
    expect(done).toMatchObject({ status: 'completed', output: expect.stringContaining('desk: s=seen | h=') });
    expect(sent).toEqual(['ann', 'ann']);
  });
});
