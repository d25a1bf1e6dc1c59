import { Agent, type Model } from '@openai/agents';
import { expect } from 'vitest';
import { z } from 'zod';
import { interruptionView } from '../../src/core/interruptions/interruption.js';
import { runEvent } from '../../src/core/log/event.js';
import { pageOf } from '../../src/core/operations/fields.js';
import { type RunView, runView } from '../../src/core/runs/run.js';
import {
  askHumanTool,
  defineAgent,
  defineTool,
  type HoldfastConfig,
  sleepTool,
  subAgent,
  waitForEventTool,
} from '../../src/index.js';
import type { DatabaseKind } from '../harness/database.js';
import { inPieces } from '../harness/in-pieces.js';
import { call, say, scripted } from '../harness/script.js';
import { type Door, openDoor } from './door.js';

/** A door whose agents wait for everything that a run can wait for, and a run of each that has come to its rest. */

const pay = defineTool({
  name: 'pay',
  description: 'Pays someone.',
  input: z.object({ to: z.string(), amount: z.number().positive() }),
  output: z.object({ paid: z.number() }),
  capabilities: ({ to }) => [`bank:pay:${to}`],
  approval: 'It costs money.',
  execute: ({ amount }) => ({ paid: amount }),
});
/** No one knows whether it has happened. */
const post = defineTool({
  name: 'post',
  description: 'Posts a letter, and never says so.',
  input: z.object({}),
  output: z.object({ number: z.int() }),
  timeoutMs: 20,
  execute: () => new Promise<never>(() => {}),
});

const SCHEMA = JSON.stringify({
  type: 'object',
  properties: { cents: { type: 'integer' }, note: { type: 'string' } },
  required: ['cents'],
  additionalProperties: false,
});

const PAYS: Parameters<typeof scripted>[0] = [[call('pay', { to: 'alice', amount: 5 }, 'p1')]];
const GRANTS = [
  ...['bank:pay:alice', 'bank:pay:carol', 'human:ask:*', 'time:sleep:*', 'event:wait:*'],
  ...['tool:call:post', 'tool:call:payer', { capability: 'bank:pay:alice', effect: 'allow' as const, delegate: true }],
];
const agent = (name: string, model: Model, more: object = {}): HoldfastConfig['agents'][number] => {
  const tools = [pay, post, askHumanTool(), sleepTool(), waitForEventTool(), subAgent({ agent: 'payer' })];
  return defineAgent({ agent: new Agent({ name, model, tools }), grants: GRANTS, onDenied: 'tell', ...more });
};
const waiter = (name: string, tool: string, args: object): HoldfastConfig['agents'][number] =>
  agent(name, scripted([[call(tool, args, 'w1')]]));

const AGENTS = [
  agent('payer', scripted([...PAYS, [say('done')]])),
  agent('twice', scripted([...PAYS, [call('ask_human', { question: 'More?' }, 'q1')]])),
  waiter('asker', 'ask_human', { question: 'How much?', answerSchema: SCHEMA }),
  waiter('chooser', 'ask_human', { question: 'Which?', choices: ['red', 'blue'] }),
  waiter('napper', 'sleep', { seconds: 86_400 }),
  waiter('waiter', 'wait_for_event', { name: 'paid', key: '7' }),
  waiter('poster', 'post', {}),
  waiter('parent', 'payer', { input: 'Pay her.' }),
  agent('talker', inPieces(scripted([...PAYS, [say('It was paid, and here is the receipt.')]]), 4), { stream: true }),
];

/** Ids by the names that requests of tests use: `{payer}` is a run, `{payer.wait}` what it waits for. */
export interface Names {
  /** A text with the ids in place of the names. Throws for a name that is none. */
  readonly in: (text: string) => string;
}

export interface Stage {
  readonly door: Door;
  /** Starts a run and waits until it rests. */
  readonly rest: (agent: string, body?: object) => Promise<RunView>;
  readonly again: (runId: string) => Promise<RunView>;
  readonly kindsOf: (runId: string) => Promise<readonly string[]>;
  /** Approves what a run waits for, and what later calls need that need the same. Gives the id of the standing decision. */
  readonly always: (run: RunView) => Promise<string>;
}

export async function openStage(kind: DatabaseKind): Promise<Stage> {
  const door = await openDoor(kind, AGENTS);
  const again = async (id: string) => runView.parse((await door.ask('vera', 'GET', `/api/v1/runs/${id}?wait=20`)).json);
  return {
    ...{ door, again },
    rest: async (name, body = {}) => {
      const { json } = await door.ask('otto', 'POST', '/api/v1/runs', { agent: name, input: 'go', ...body });
      return again(runView.parse(json).id);
    },
    kindsOf: async (id) => {
      const { json } = await door.ask('vera', 'GET', `/api/v1/runs/${id}/events?limit=200`);
      return pageOf(runEvent)
        .parse(json)
        .items.map((event) => event.kind);
    },
    always: async ({ interruptions: [id] }) => {
      const { json } = await door.ask('anna', 'POST', `/api/v1/interruptions/${id}/approve`, { always: true });
      return interruptionView.parse(json).id.replace(/^int_/, 'std_');
    },
  };
}

/**
 * Brings runs to their rest and names them, under the keys `kept` (an event), `forked` and `retried`. Throws when one rests
 * otherwise than it should.
 */
export async function castOf({ door, rest, again, always, kindsOf }: Stage): Promise<Names> {
  const [twice, completed, failed] = await Promise.all([rest('twice'), rest('payer'), rest('twice', { maxTurns: 1 })]);
  const [standing, held] = [await always(twice), await always(completed), await always(failed)];
  const names = new Map<string, string>([
    ['standing', standing],
    ['held', held],
  ]);
  const cast = {
    ...{ twice, completed, failed },
    ...{ payer: await rest('payer'), asker: await rest('asker'), chooser: await rest('chooser') },
    ...{ napper: await rest('napper'), waiter: await rest('waiter'), poster: await rest('poster') },
    ...{ parent: await rest('parent'), talking: await rest('asker', { sessionId: 'talk' }) },
  };
  const ends: { readonly [name: string]: string } = { completed: 'completed', failed: 'failed' };
  for (const [name, { id }] of Object.entries(cast)) {
    const { status, interruptions } = await again(id);
    expect(status, name).toBe(ends[name] ?? 'paused');
    names.set(name, id);
    names.set(`${name}.end`, String((await kindsOf(id)).length));
    for (const one of interruptions) names.set(`${name}.wait`, one);
  }
  const under = (path: string, key: string, body: object) =>
    door.ask('otto', 'POST', `/api/v1/${path}`, body, { 'Idempotency-Key': key });
  const made = await Promise.all([
    under('events/paid', 'kept', { payload: 1 }),
    under(`runs/${completed.id}/fork`, 'forked', { at: 1 }),
    under(`runs/${failed.id}/retry`, 'retried', {}),
  ]);
  expect(made.map(({ status }) => status)).toEqual([200, 202, 202]);
  for (const { json } of made.slice(1)) await again(runView.parse(json).id);
  return {
    in: (text) =>
      text.replaceAll(/\{([a-z]+(?:\.[a-z]+)?)\}/g, (_whole, name: string) => {
        const id = names.get(name);
        if (id === undefined) throw new Error(`nothing has the name ${name}`);
        return id;
      }),
  };
}
