import { Agent } from '@openai/agents';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { nanosOf, usdOf } from '../../../src/core/money.js';
import { defineAgent, defineTool, type HoldfastConfig } from '../../../src/index.js';
import { ADMIN, BOB, dataOf, openTestEngine, type TestEngine } from '../../harness/engine.js';
import { SLOW } from '../../harness/slow.js';
import { FINAL } from '../../models/providers/fake-provider.js';
import { type WireServer, wireServer } from '../../models/servers/wire-server.js';
import { WIRE_CASES, type WireCase } from './wire-cases.js';

/** From the wire of each provider, as its documentation and its users describe it, to the end of a durable run. */

const MODES = ['whole', 'streamed'] as const;
const CASES = WIRE_CASES.flatMap((wired) => MODES.map((mode) => ({ wired, mode, name: wired.name })));

// A nano-dollar for each token of input, and 1,000 for each of output.
const PRICE = { inputPerMillion: '0.001', outputPerMillion: '1' };
const INPUT = 'Which is warmest?';

const weather = defineTool({
  name: 'weather',
  description: 'The weather of a city.',
  input: z.object({ city: z.string() }),
  output: z.string(),
  effect: 'pure',
  execute: ({ city }) => `12 degrees in ${city}`,
});

/** What the first turns of a run are charged for. */
function chargeOf({ charged }: WireCase, turns: 1 | 2 | 3) {
  const each = ([1, 2, 3] as const).slice(0, turns).map((turn) => charged(turn));
  const inputTokens = each.reduce((sum, one) => sum + one.inputTokens, 0);
  const outputTokens = each.reduce((sum, one) => sum + one.outputTokens, 0);
  const nanos = BigInt(inputTokens) + 1_000n * BigInt(outputTokens);
  return { usage: { inputTokens, outputTokens, totalTokens: inputTokens + outputTokens }, nanos };
}

describe('the wire of a provider', () => {
  let engine: TestEngine;
  const servers = new Map<string, WireServer>();
  beforeAll(async () => {
    const providers: Record<string, NonNullable<HoldfastConfig['providers']>[string]> = {};
    const prices: Record<string, typeof PRICE> = {};
    const agents = [];
    for (const { name, model, answerer, open, settings } of WIRE_CASES) {
      const server = await wireServer(answerer);
      servers.set(name, server);
      providers[`at-${name}`] = open(server.url);
      prices[`at-${name}/${model}`] = PRICE;
      for (const mode of MODES) {
        const named = { name: `${name}_${mode}`, model: `at-${name}/${model}`, tools: [weather] };
        const modelSettings = { maxTokens: 5_000, ...settings };
        const agent = new Agent({ ...named, instructions: 'Be short.', modelSettings });
        agents.push(defineAgent({ agent, grants: ['tool:call:weather'], stream: mode === 'streamed', maxTurns: 6 }));
      }
    }
    engine = await openTestEngine('pglite', { agents, providers, prices });
  });
  afterAll(async () => {
    await engine.close();
    for (const server of servers.values()) await server[Symbol.asyncDispose]();
  });

  const rest = (id: string) => engine.engine.getRun(id, ADMIN, { waitMs: 30_000 });

  /** Counts the requests that reach a server during some work. */
  async function requestsIn(wired: WireCase, work: () => Promise<void>): Promise<number> {
    const received = () => servers.get(wired.name)?.received.length ?? 0;
    const before = received();
    await work();
    return received() - before;
  }

  test.runIf(SLOW).each(CASES)('$name, $mode: two turns with calls, parallel ones too', async ({ wired, mode }) => {
    const asked = { agent: `${wired.name}_${mode}`, input: INPUT };
    const { id } = await engine.engine.startRun(asked, ADMIN);
    const run = await rest(id);
    const { usage, nanos } = chargeOf(wired, 3);
    expect(run).toMatchObject({ status: 'completed', output: FINAL, turns: 3, error: null, usage });
    expect(run.costUsd).toBe(usdOf(nanos));
    const told = await dataOf(engine.engine, id, 'model.responded');
    expect(told.map(({ finishReason }) => finishReason)).toEqual(['tool_calls', 'tool_calls', 'stop']);
    const calls = await dataOf(engine.engine, id, 'call.finished');
    expect(calls.map(({ outcome }) => outcome)).toEqual(
      ['Oslo', 'Rome', 'Paris'].map((city) => ({ type: 'output', output: `12 degrees in ${city}` })),
    );
  });

  test.runIf(SLOW).each(CASES)('$name, $mode: a limit of tokens holds to the token', async ({ wired, mode }) => {
    const { usage } = chargeOf(wired, 2);
    const limited = async (maxTotalTokens: number) => {
      const asked = { agent: `${wired.name}_${mode}`, input: INPUT, maxTotalTokens };
      const { id } = await engine.engine.startRun(asked, ADMIN);
      return await rest(id);
    };
    const requests = await requestsIn(wired, async () => {
      const run = await limited(usage.totalTokens);
      expect(run).toMatchObject({ status: 'failed', error: { code: 'limit_tokens' }, turns: 2, usage });
      expect(run.error?.message).toContain(`used ${usage.totalTokens} tokens; its limit is ${usage.totalTokens} `);
    });
    expect(requests).toBe(2);
    expect(await limited(usage.totalTokens + 1)).toMatchObject({ status: 'completed', turns: 3 });
  });

  test.runIf(SLOW).each(CASES)('$name, $mode: a budget of money holds to the token', async ({ wired, mode }) => {
    const requests = await requestsIn(wired, async () => {
      const budget = { usd: '0', onExhausted: 'ask' as const };
      const { id } = await engine.engine.startRun({ agent: `${wired.name}_${mode}`, input: INPUT, budget }, ADMIN);
      let spent = 0n;
      for (const turn of [1, 2, 3] as const) {
        expect(await rest(id)).toMatchObject({ status: 'paused', turns: turn - 1, costUsd: usdOf(spent) });
        const { items } = await engine.engine.listInterruptions({ status: 'pending', runId: id, limit: 10 }, ADMIN);
        const [asked] = items;
        if (asked?.wait?.kind !== 'budget') throw new Error('The run does not wait for a budget.');
        expect(asked.wait.spentUsd).toBe(usdOf(spent));
        // What is spent and may be needed lets exactly this call out; a nano-dollar less does not.
        const least = spent + nanosOf(asked.wait.neededUsd);
        const approve = (nanos: bigint) =>
          engine.engine.decide(asked.id, { verdict: 'approve', budget: { usd: usdOf(nanos) } }, BOB);
        await expect(approve(least - 1n)).rejects.toMatchObject({ code: 'invalid_request' });
        await approve(least);
        spent = chargeOf(wired, turn).nanos;
      }
      const run = await rest(id);
      expect(run).toMatchObject({ status: 'completed', output: FINAL, costUsd: usdOf(spent) });
    });
    expect(requests).toBe(3);
  });
});
