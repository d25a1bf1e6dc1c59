import { Agent } from '@openai/agents';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { defineAgent, defineTool, functionModel } from '../../../src/index.js';
import { describeEachDatabaseSlowly } from '../../harness/database.js';
import { ADMIN, kindsOf, openTestEngine, restOf } from '../../harness/engine.js';
import { call, resultsIn, say } from '../../harness/script.js';

/** A segment in flight goes on after a restart, although its agent is told something else by then. */

let hang = true;
let looked = 0;

const look = defineTool({
  name: 'look',
  description: 'Looks.',
  input: z.object({}),
  output: z.string(),
  effect: 'pure',
  execute: () => `looked ${++looked}`,
});

/** Looks once, and stands still in its second turn until the process is restarted. */
const model = functionModel('standing', async (request) => {
  if (resultsIn(request.input).length === 0) return [call('look', {})];
  if (hang) await new Promise(() => {});
  return [
    say(
      resultsIn(request.input)
        .map(({ text }) => text)
        .join(' | '),
    ),
  ];
});

const agents = (instructions: Agent['instructions']) => [
  defineAgent({ agent: new Agent({ name: 'a', instructions, model, tools: [look] }), grants: ['tool:call:*'] }),
];

const clock = () => `It is ${process.hrtime.bigint()}.`;

describeEachDatabaseSlowly('a changed agent', (kind) => {
  it.each([
    ['by an edit', 'Be good.', 'Be very good.'],
    ['by a clock', clock, clock],
  ])('is no other run: instructions changed %s', async (_how, before, after) => {
    hang = true;
    looked = 0;
    const t = await openTestEngine(kind, { agents: agents(before) });
    try {
      const { id } = await t.engine.startRun({ agent: 'a', input: 'go' }, ADMIN);
      const asked = async () => (await kindsOf(t.engine, id)).filter((one) => one === 'model.requested').length;
      for (let n = 0; n < 400 && (await asked()) < 2; n++) await new Promise((resolve) => setTimeout(resolve, 25));
      hang = false;
      await t.restart({ agents: agents(after) });
      const done = await restOf(t.engine, id);
      expect(done).toMatchObject({ status: 'completed', output: 'looked 1', error: null });
      expect(looked).toBe(1);
      expect(await t.engine.verifyRun(id, ADMIN)).toMatchObject({ ok: true, complete: true });
    } finally {
      await t.close();
    }
  });
});
