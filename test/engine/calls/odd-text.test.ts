import { Agent } from '@openai/agents';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { defineAgent, defineTool } from '../../../src/index.js';
import { describeEachDatabase } from '../../harness/database.js';
import { ADMIN, decideAndRest, engineFor, runToRest } from '../../harness/engine.js';
import { call, say, scripted } from '../../harness/script.js';

/** Characters that JSON can say and a text column of PostgreSQL cannot, and names that objects have, wherever a model may put them. */

const odd = 'a\u0000b\uD800c';

const echo = (name: string, approval: boolean) =>
  defineTool({
    name,
    description: 'Echoes.',
    input: z.object({ text: z.string() }),
    output: z.string(),
    effect: 'unsafe',
    approval: ({ text }) => (approval ? `Echo ${text}?` : false),
    execute: ({ text }) => {
      if (text.startsWith('throw')) throw new Error(`no ${text}`);
      return text;
    },
  });

const agent = (name: string, outputs: Parameters<typeof scripted>[0]) =>
  defineAgent({
    agent: new Agent({ name, model: scripted(outputs), tools: [echo('echo', false), echo('asking', true)] }),
    grants: ['tool:call:*'],
  });

const config = {
  agents: [
    agent('said', [[say(odd)]]),
    agent('argued', [[call('echo', { text: odd })]]),
    agent('thrown', [[call('echo', { text: `throw ${odd}` })]]),
    agent('asked', [[call('asking', { text: odd })]]),
    agent('named', [[call('echo', { text: 'x' }, odd)]]),
    agent('wrong', [[call('echo', { [odd]: odd })]]),
    agent('inherited', [[call('echo', '{"text":"x","__proto__":{"text":"y"}}')]]),
    agent('inherited_asked', [[call('asking', '{"text":"x","constructor":1,"__proto__":{"text":"y"}}')]]),
  ],
};

describeEachDatabase('odd text', (kind) => {
  const t = engineFor(kind, config);

  it.each(config.agents.map(({ agent }) => agent.name))('fails no run: %s', async (name) => {
    const rest = await runToRest(t.engine, name);
    const done = rest.status === 'paused' ? await decideAndRest(t.engine, rest.id, { verdict: 'approve' }) : rest;
    expect(done).toMatchObject({ status: 'completed', error: null });
    expect(await t.engine.verifyRun(done.id, ADMIN)).toMatchObject({ ok: true, complete: true });
  });
});
