import { Agent } from '@openai/agents';
import { beforeEach, expect, it } from 'vitest';
import { z } from 'zod';
import { defineAgent, defineTool } from '../../../src/index.js';
import { describeEachDatabase } from '../../harness/database.js';
import { ADMIN, BOB, decideAndRest, engineFor, kindsOf, pendingOf, restOf, runToRest } from '../../harness/engine.js';
import { call, scripted } from '../../harness/script.js';
import { SLOW } from '../../harness/slow.js';

/** An unsafe call that does not end in time may have happened: no one but a person can say. Crashes: the crash matrix. */

let sent: string[] = [];
let hangs = 0;

const shape = { input: z.object({ to: z.string() }), output: z.object({ id: z.string() }) };

/** Sends at once, and then does not come back as often as `hangs` says. */
const send = defineTool({
  name: 'send',
  description: 'Sends.',
  ...shape,
  effect: 'unsafe',
  timeoutMs: 60,
  execute: async ({ to }, { signal }) => {
    sent.push(to);
    if (hangs-- > 0)
      await new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('stopped'))));
    return { id: `sent-${to}` };
  },
});
const pay = defineTool({
  name: 'pay',
  description: 'Pays.',
  ...shape,
  effect: 'unsafe',
  approval: true,
  execute: ({ to }) => {
    sent.push(`pay ${to}`);
    return { id: `paid-${to}` };
  },
});

const agent = (name: string, outputs: Parameters<typeof scripted>[0]) =>
  defineAgent({ agent: new Agent({ name, model: scripted(outputs), tools: [send, pay] }), grants: ['tool:call:*'] });

const config = {
  agents: [
    agent('one', [[call('send', { to: 'ann' })]]),
    agent('mixed', [[call('pay', { to: 'bob' }, 'p'), call('send', { to: 'ann' }, 's')]]),
  ],
};

describeEachDatabase('unknown effects', (kind) => {
  const t = engineFor(kind, config);
  beforeEach(() => {
    sent = [];
    hangs = 1;
  });

  it('pauses and says what may have happened', async () => {
    const paused = await runToRest(t.engine, 'one');
    expect(paused.status).toBe('paused');
    expect(await pendingOf(t.engine, paused.id, 'send')).toMatchObject({
      kind: 'approval',
      reason: { code: 'unknown_effect', text: expect.stringContaining('may have happened') },
      verdicts: ['approve', 'reject', 'answer'],
      arguments: { to: 'ann' },
    });
    expect(sent).toEqual(['ann']);
    const done = await decideAndRest(t.engine, paused.id, { verdict: 'answer', value: { id: 'seen in the outbox' } });
    expect(done).toMatchObject({ status: 'completed', output: 'call_send={"id":"seen in the outbox"}' });
    expect(sent).toEqual(['ann']);
    expect(await kindsOf(t.engine, paused.id)).toContain('call.unknown');
    expect(await t.engine.verifyRun(paused.id, ADMIN)).toMatchObject({ ok: true, complete: true });
  });

  it.runIf(SLOW)('an answer must be what the tool could have returned', async () => {
    const paused = await runToRest(t.engine, 'one');
    const id = paused.interruptions[0] ?? '';
    await expect(t.engine.decide(id, { verdict: 'answer', value: { di: 1 } }, BOB)).rejects.toMatchObject({
      code: 'invalid_request',
      fields: [{ pointer: '/value' }],
    });
    expect(await decideAndRest(t.engine, paused.id, { verdict: 'answer', value: { id: 'x' } })).toMatchObject({
      status: 'completed',
    });
  });

  it.runIf(SLOW)('rejected, it is not run again, and the model reads why', async () => {
    const paused = await runToRest(t.engine, 'one');
    const done = await decideAndRest(t.engine, paused.id, { verdict: 'reject', message: 'Ask the bank first.' });
    expect(done.output).toMatch(/may have happened.*Ask the bank first/);
    expect(sent).toEqual(['ann']);
  });

  it('approved, it runs again once, and a second doubt asks again', async () => {
    hangs = 2;
    const paused = await runToRest(t.engine, 'one');
    const again = await decideAndRest(t.engine, paused.id, { verdict: 'approve' });
    expect(again.status).toBe('paused');
    expect(again.interruptions).not.toEqual(paused.interruptions);
    expect(sent).toEqual(['ann', 'ann']);
    const done = await decideAndRest(t.engine, paused.id, { verdict: 'approve' });
    expect(done).toMatchObject({ status: 'completed', output: 'call_send={"id":"sent-ann"}' });
    expect(sent).toEqual(['ann', 'ann', 'ann']);
  });

  it.runIf(SLOW)('a decision beside a call that is in doubt again is kept, and its call runs once', async () => {
    hangs = 2;
    const paused = await runToRest(t.engine, 'mixed');
    expect(paused.interruptions).toHaveLength(2);
    const approve = async (tool: string) => {
      const pending = await pendingOf(t.engine, paused.id, tool);
      await t.engine.decide(pending?.id ?? '', { verdict: 'approve' }, BOB);
    };
    await approve('pay');
    await approve('send');
    const again = await restOf(t.engine, paused.id);
    expect(again).toMatchObject({ status: 'paused', segment: 2 });
    expect(again.interruptions).toHaveLength(1);
    const done = await decideAndRest(t.engine, paused.id, { verdict: 'answer', value: { id: 'known' } });
    expect(done).toMatchObject({ status: 'completed', output: expect.stringContaining('p={"id":"paid-bob"}') });
    expect(done.output).toContain('s={"id":"known"}');
    expect(sent).toEqual(['ann', 'ann', 'pay bob']);
  });
});
