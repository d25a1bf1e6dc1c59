import { Agent } from '@openai/agents';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { defineAgent, defineTool, functionModel } from '../../../src/index.js';
import { describeEachDatabase } from '../../harness/database.js';
import { ADMIN, BOB, dataOf, engineFor, eventsOf, restOf, runToRest } from '../../harness/engine.js';
import { call, resultsIn, say } from '../../harness/script.js';
import { SLOW } from '../../harness/slow.js';

/** Local models number the calls of each response from one again: an id says which call of a response, not of a run. */

const ran: number[] = [];

const tool = (name: string, approval: boolean) =>
  defineTool({
    name,
    description: 'Does something.',
    input: z.object({ n: z.number() }),
    output: z.string(),
    effect: 'unsafe',
    approval,
    execute: ({ n }) => {
      ran.push(n);
      return `did ${n} (${ran.length})`;
    },
  });

/** Asks for one call under the same id in each of three turns. */
const forgetful = (name: string, argumentOf: (turn: number) => number, approval = false) =>
  defineAgent({
    agent: new Agent({
      name,
      tools: [tool('act', approval)],
      model: functionModel(name, (request) => {
        const results = resultsIn(request.input);
        if (results.length < 3) return [call('act', { n: argumentOf(results.length) }, 'call_1')];
        return [say(results.map(({ text }) => text).join(' | '))];
      }),
    }),
    grants: ['tool:call:*'],
    maxTurns: 6,
  });

const config = {
  turnsPerSegment: 2,
  agents: [
    forgetful('other', (turn) => turn),
    forgetful('same', () => 7),
    forgetful('asked', (turn) => turn, true),
    defineAgent({
      agent: new Agent({
        name: 'nameless',
        tools: [tool('act', false)],
        model: functionModel('nameless', (request) =>
          resultsIn(request.input).length < 2
            ? [call('act', { n: 1 }, '')]
            : [
                say(
                  resultsIn(request.input)
                    .map(({ text }) => text)
                    .join(' | '),
                ),
              ],
        ),
      }),
      grants: ['tool:call:*'],
      maxTurns: 6,
    }),
  ],
};

const LONG_ID = 'x'.repeat(100_000);

/** Asks for two calls in one answer, under the same id, and then says what it was told. */
const twice = (name: string, id: string, approval = false) =>
  defineAgent({
    agent: new Agent({
      name,
      tools: [tool('act', approval)],
      model: functionModel(name, (request) => {
        const results = resultsIn(request.input);
        if (results.length === 0) return [call('act', { n: 1 }, id), call('act', { n: 2 }, id)];
        return [say(results.map(({ text }) => text).join(' | '))];
      }),
    }),
    grants: ['tool:call:*'],
    maxTurns: 6,
  });

describeEachDatabase('call ids', (kind) => {
  const t = engineFor(kind, {
    ...config,
    agents: [...config.agents, twice('doubled', 'call_1'), twice('long', LONG_ID), twice('doubled_asked', 'c', true)],
  });

  it.each(['doubled', 'long'])(
    'of one answer are made unique, and each call runs with its own arguments: %s',
    async (agent) => {
      ran.length = 0;
      const run = await runToRest(t.engine, agent);
      expect(run).toMatchObject({ status: 'completed' });
      expect([...ran].sort()).toEqual([1, 2]);
      const checked = await dataOf(t.engine, run.id, 'call.checked');
      expect(checked.map((one) => one['arguments'])).toEqual([{ n: 1 }, { n: 2 }]);
      expect(new Set(checked.map((one) => one['callId'])).size).toBe(2);
      for (const { callId } of checked) expect(String(callId).length).toBeLessThan(300);
      const { steps } = await t.engine.getTrajectory(run.id, ADMIN);
      expect(JSON.stringify(steps)).toContain('"n":2');
      expect(await t.engine.replayRun(run.id, {}, ADMIN)).toMatchObject({ result: 'same' });
    },
  );

  it.runIf(SLOW)('an approval of one of two calls that shared an id is none of the other', async () => {
    ran.length = 0;
    const run = await runToRest(t.engine, 'doubled_asked');
    const { items } = await t.engine.listInterruptions({ status: 'pending', runId: run.id, limit: 5 }, BOB);
    expect(items).toHaveLength(2);
    const second = items.find((one) => JSON.stringify(one.arguments) === '{"n":2}');
    const first = items.find((one) => one !== second);
    await t.engine.decide(first?.id ?? '', { verdict: 'reject' }, BOB);
    await t.engine.decide(second?.id ?? '', { verdict: 'approve' }, BOB);
    expect((await restOf(t.engine, run.id)).status).toBe('completed');
    expect(ran).toEqual([2]);
  });

  it.each([
    ['other', 'did 0 (1) | did 1 (2) | did 2 (3)'],
    ['same', 'did 7 (1) | did 7 (2) | did 7 (3)'],
    ['nameless', 'did 1 (1) | did 1 (2)'],
  ])('of another turn are no reason not to run: %s', async (agent, output) => {
    ran.length = 0;
    const run = await runToRest(t.engine, agent);
    expect(run).toMatchObject({ status: 'completed', output });
    expect(await t.engine.verifyRun(run.id, ADMIN)).toMatchObject({ ok: true, complete: true });
    const items = await eventsOf(t.engine, run.id);
    const ids = items.flatMap((event) =>
      event.kind === 'call.started' ? [(event.data as { callId: string }).callId] : [],
    );
    expect(new Set(ids).size).toBe(ids.length);
  });

  it.runIf(SLOW)('an approval of a call is none of a later call under its id', async () => {
    ran.length = 0;
    let run = await runToRest(t.engine, 'asked');
    for (const verdict of ['approve', 'reject', 'approve'] as const) {
      expect(run).toMatchObject({ status: 'paused', interruptions: [expect.any(String)] });
      await t.engine.decide(run.interruptions[0] ?? '', { verdict }, BOB);
      run = await restOf(t.engine, run.id);
    }
    expect(run.status).toBe('completed');
    expect(ran).toEqual([0, 2]);
  });
});
