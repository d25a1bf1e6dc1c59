import { readFile } from 'node:fs/promises';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { Agent, run, tool } from '@openai/agents';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { z } from 'zod';
import { defineAgent, functionModel, type HoldfastConfig } from '../../../src/index.js';
import { type DatabaseKind, describeEachDatabase } from '../../harness/database.js';
import { ADMIN, engineFor, runToRest } from '../../harness/engine.js';
import { call, say, scripted } from '../../harness/script.js';

/** Callbacks of an agent that declares them pure: what they read and write fails by name. */

let asked = 0;
const server = http.createServer((_request, response) => {
  asked++;
  response.end('up');
});
let port = 0;
beforeAll(async () => {
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  port = (server.address() as AddressInfo).port;
});
afterAll(() => server.close());
const url = () => `http://127.0.0.1:${port}/`;

const HERE = new URL(import.meta.url);

const says = (name: string) => functionModel(name, () => [say('done')]);
const computes = (name: string, instructions: () => unknown) =>
  new Agent({ name, model: says(name), instructions: async () => String(await instructions()) });
const pure = (agent: Agent, grants: readonly string[] = []) => defineAgent({ agent, grants, callbacks: 'pure' });

const note = tool({
  name: 'note',
  description: 'Notes.',
  parameters: z.object({}),
  execute: async () => readFile(HERE, 'utf8').then((text) => `read ${text.length > 0}`),
  outputGuardrails: [
    {
      name: 'looks it up',
      run: async () => {
        await fetch(url()).catch(() => undefined);
        return { behavior: { type: 'allow' } };
      },
    },
  ],
});
const judge = new Agent({ name: 'judge', model: says('judge') });
const hooked = new Agent({ name: 'hooked', model: says('hooked') });
hooked.on('agent_start', () => {
  void readFile(HERE);
});
const guardrail = (name: string, work: () => Promise<unknown>) =>
  new Agent({
    name,
    model: says(name),
    inputGuardrails: [
      { name: 'check', execute: async () => ({ tripwireTriggered: false, outputInfo: String(await work()) }) },
    ],
  });

const config: HoldfastConfig = {
  agents: [
    pure(computes('swallows', () => fetch(url()).catch(() => 'nothing'))),
    pure(computes('computes', async () => `${new Date(0).getTime()} ${await Promise.resolve(1)}`)),
    pure(guardrail('guarded', () => fetch(url()))),
    pure(guardrail('judged', async () => (await run(judge, 'Fine?')).finalOutput)),
    pure(hooked),
    pure(new Agent({ name: 'notes', tools: [note], model: scripted([[call('note', {})]]) }), ['tool:call:*']),
    defineAgent({ agent: computes('free', () => readFile(HERE).then(() => 'read')) }),
  ],
};

describeEachDatabase('pure callbacks', (kind: DatabaseKind) => {
  const t = engineFor(kind, config);

  const refused = async (agent: string, message: RegExp) => {
    const ended = await runToRest(t.engine, agent);
    expect(ended).toMatchObject({ status: 'failed', error: { code: 'callback_not_pure' } });
    expect(ended.error?.message).toMatch(message);
    return ended;
  };

  it('fail by name, also where they catch the error; nothing was sent', async () => {
    const before = asked;
    await refused('swallows', /the callback instructions:swallows of the agent swallows used fetch,/);
    expect(asked).toBe(before);
  });

  it('fail in a guardrail by the name of the guardrail, and a replay finds the same', async () => {
    const { id } = await refused('guarded', /guardrail:input:guarded:check of the agent guarded used fetch,/);
    expect(await t.engine.verifyRun(id, ADMIN)).toMatchObject({ ok: true });
  });

  it('fail in an output guardrail of a tool; the tool itself may read', async () => {
    await refused('notes', /an output guardrail of the tool note of the agent notes used fetch,/);
  });

  it('fail in a hook', async () => {
    await refused('hooked', /a hook of the agent of hooked used fs\.promises\.readFile,/);
  });

  it('may compute, wait, and ask a judge that reads and writes nothing', async () => {
    expect(await runToRest(t.engine, 'computes')).toMatchObject({ status: 'completed', output: 'done' });
    expect(await runToRest(t.engine, 'judged')).toMatchObject({ status: 'completed', output: 'done' });
  });

  it('of other agents are not restricted', async () => {
    expect(await runToRest(t.engine, 'free')).toMatchObject({ status: 'completed', output: 'done' });
  });
});
