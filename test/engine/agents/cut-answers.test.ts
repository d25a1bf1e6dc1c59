import { Agent, Usage } from '@openai/agents';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { defineAgent, defineTool, functionModel } from '../../../src/index.js';
import { describeEachDatabase } from '../../harness/database.js';
import { ADMIN, dataOf, engineFor, runToRest } from '../../harness/engine.js';
import { call, type Output, say } from '../../harness/script.js';
import { SLOW } from '../../harness/slow.js';

const made: string[] = [];
const pay = defineTool({
  name: 'pay',
  description: 'Pays.',
  input: z.object({}),
  output: z.string(),
  execute: (_input, { runId }) => {
    made.push(runId);
    return 'paid';
  },
});

const looked: string[] = [];
const look = defineTool({
  ...{ name: 'look', description: 'Looks.', effect: 'pure', input: z.object({}), output: z.string() },
  execute: (_input, { runId }) => {
    looked.push(runId);
    return 'seen';
  },
});

const usage = () => new Usage({ requests: 1, inputTokens: 10, outputTokens: 5, totalTokens: 15 });
const ended = (finishReason: string, ...output: Output) => ({ output, usage: usage(), providerData: { finishReason } });

/** Gives answers that end with `reason`, until it was asked again so often. */
const ends = (reason: string, times: number) =>
  functionModel(reason, ({ input }) => {
    const again = JSON.stringify(input).split('Your last answer was cut').length - 1;
    const asked = typeof input === 'string' ? 0 : again;
    return asked < times ? ended(reason, say('The answer is'), call('pay', {})) : ended('stop', say('whole'));
  });
const many = (calls: number) =>
  functionModel(`many-${calls}`, ({ input }) =>
    typeof input === 'string' || input.length < 2
      ? ended('tool_calls', ...Array.from({ length: calls }, (_, n) => call('look', {}, `c${n}`)))
      : ended('stop', say('done')),
  );
const mute = functionModel('mute', () => ended('stop', say('')));

const agent = (name: string, model: ReturnType<typeof functionModel>, more: object = {}) =>
  defineAgent({ agent: new Agent({ name, model, tools: [pay, look] }), grants: ['tool:call:*'], maxTurns: 9, ...more });

const config = {
  agents: [
    agent('cut', ends('length', 1)),
    agent('again', ends('length', 1), { onTruncated: 'continue' }),
    agent('always', ends('length', 99), { onTruncated: 'continue' }),
    agent('filtered', ends('content_filter', 1)),
    agent('mute', mute),
    ...[500, 501].map((calls) => agent(`many-${calls}`, many(calls))),
  ],
};

describeEachDatabase('an answer', (database) => {
  const t = engineFor(database, config);

  const responded = async (id: string) =>
    (await dataOf(t.engine, id, 'model.responded')).map(({ finishReason }) => finishReason);

  it('that was cut fails the run, and none of its calls is made', async () => {
    const run = await runToRest(t.engine, 'cut', 'Pay.');
    expect(run).toMatchObject({ status: 'failed', error: { code: 'answer_truncated' }, turns: 1 });
    expect(await responded(run.id)).toEqual(['length']);
    expect(run.usage.totalTokens).toBe(15);
    expect(made).not.toContain(run.id);
  });

  it('with more calls than one may make fails the run, and none of them is made', async () => {
    const run = await runToRest(t.engine, 'many-501', 'Pay.');
    expect(run).toMatchObject({ status: 'failed', error: { code: 'too_many_calls' }, turns: 1 });
    expect(run.error?.message).toContain('501 calls; an answer may make 500');
    expect(await responded(run.id)).toEqual(['too_many_calls']);
    expect(looked).not.toContain(run.id);
    expect(await t.engine.replayRun(run.id, {}, ADMIN)).toMatchObject({ result: 'same', differences: [] });
  });

  it.runIf(SLOW)('with as many calls as one may make has them made', { timeout: 120_000 }, async () => {
    const { id } = await t.engine.startRun({ agent: 'many-500', input: 'Pay.' }, ADMIN);
    const run = await t.engine.getRun(id, ADMIN, { waitMs: 100_000 });
    expect(run).toMatchObject({ status: 'completed', output: 'done' });
    expect(looked.filter((one) => one === id)).toHaveLength(500);
  });

  it.runIf(SLOW)('that was cut is asked for again where the agent says so', async () => {
    const run = await runToRest(t.engine, 'again', 'Pay.');
    expect(run).toMatchObject({ status: 'completed', output: 'whole' });
    expect(await responded(run.id)).toEqual(['length', 'stop']);
    expect(made).not.toContain(run.id);
  });

  it.runIf(SLOW)('that is cut again and again fails the run after three more', async () => {
    const run = await runToRest(t.engine, 'always', 'Pay.');
    expect(run).toMatchObject({ status: 'failed', error: { code: 'answer_truncated' }, turns: 4 });
    expect(made).not.toContain(run.id);
  });

  it.runIf(SLOW)('that a filter withheld fails the run', async () => {
    const run = await runToRest(t.engine, 'filtered', 'Pay.');
    expect(run).toMatchObject({ status: 'failed', error: { code: 'answer_filtered' } });
    expect(await responded(run.id)).toEqual(['content_filter']);
    expect(made).not.toContain(run.id);
  });

  it.runIf(SLOW)('that is empty fails the call, and each attempt is charged', async () => {
    const run = await runToRest(t.engine, 'mute', 'Pay.');
    expect(run).toMatchObject({ status: 'failed', error: { code: 'model_failed' } });
    expect(run.error?.message).toContain('empty');
    const charges = (await t.engine.listCharges(run.id, { after: 0, limit: 10 }, ADMIN)).items;
    expect(charges.length).toBeGreaterThan(1);
  });
});
