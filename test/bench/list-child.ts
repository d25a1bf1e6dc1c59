import { Agent } from '@openai/agents';
import { z } from 'zod';
import { SILENT } from '../../src/engine/engine-config.js';
import { createHttpServer } from '../../src/http/server.js';
import { createEngine, defineAgent, defineTool, functionModel, LOCAL_CALLER } from '../../src/index.js';
import type { Place } from './place.js';
import { STREAM_TOKEN } from './stream-client.js';

/** One process of a measurement of lists: makes some runs of each kind, or serves HTTP. */

export interface ListJob {
  readonly place: Place;
  /** So many runs of each kind; 0: it serves. */
  readonly runs: number;
}

/** A run of each kind, and its interruption, where it has one. */
export type Made = Readonly<Record<'completed' | 'failed' | 'paused' | 'approved', Of>>;
interface Of {
  readonly id: string;
  readonly interruption: string | null;
}

const { place, runs }: ListJob = JSON.parse(process.argv[2] ?? '{}');
const say = (value: unknown): void => void process.stdout.write(`${JSON.stringify(value)}\n`);

const done = {
  ...{ type: 'message' as const, role: 'assistant' as const, status: 'completed' as const },
  content: [{ type: 'output_text' as const, text: 'done' }],
};
const call = {
  ...{ type: 'function_call' as const, callId: 'c0', status: 'completed' as const, name: 'pay' },
  arguments: '{"amount":"12.50"}',
};
const says = functionModel('usual', () => [done]);
const fails = functionModel('usual', () => [{ ...call, name: 'unknown_tool' }]);
const asks = functionModel('usual', ({ input }) => {
  const isAnswered = Array.isArray(input) && input.some((item) => item.type === 'function_call_result');
  return [isAnswered ? done : call];
});
const pay = defineTool({
  ...{ name: 'pay', description: 'Pays.', input: z.object({ amount: z.string() }), output: z.string() },
  ...{ effect: 'unsafe', approvalExpiresInMs: 86_400_000, execute: () => 'paid' },
});
const engine = await createEngine({
  agents: [
    defineAgent({ agent: new Agent({ name: 'says', model: says }) }),
    defineAgent({ agent: new Agent({ name: 'fails', model: fails }), maxTurns: 1 }),
    defineAgent({
      agent: new Agent({ name: 'asks', model: asks, tools: [pay] }),
      grants: [{ capability: 'tool:call:pay', effect: 'ask' }],
    }),
  ],
  ...place,
  workerId: 'bench',
  role: runs === 0 ? 'api' : 'all',
});

async function one(agent: string, wanted: string): Promise<Of> {
  const { id } = await engine.startRun({ agent, input: 'A question of some words.' }, LOCAL_CALLER);
  const { status, error, interruptions } = await engine.getRun(id, LOCAL_CALLER, { waitMs: 60_000 });
  if (status !== wanted) throw new Error(`run ${id} is ${status}: ${JSON.stringify(error)}`);
  return { id, interruption: interruptions[0] ?? null };
}

async function approved(): Promise<Of> {
  const made = await one('asks', 'paused');
  await engine.decide(made.interruption ?? '', { verdict: 'approve' }, LOCAL_CALLER);
  const { status } = await engine.getRun(made.id, LOCAL_CALLER, { waitMs: 60_000 });
  if (status !== 'completed') throw new Error(`run ${made.id} is ${status}`);
  return made;
}

if (runs > 0) {
  let made: Made | null = null;
  for (let n = 0; n < runs; n++) {
    const [completed, failed, paused, decided] = await Promise.all([
      one('says', 'completed'),
      one('fails', 'failed'),
      one('asks', 'paused'),
      approved(),
    ]);
    made ??= { completed, failed, paused, approved: decided };
  }
  say(made);
  await engine.stop();
  process.exit(0);
}
const http = await createHttpServer(engine, {
  ...{ host: '127.0.0.1', port: 0, maxBodyBytes: 1024 * 1024, console: false, log: SILENT },
  tokens: [{ token: STREAM_TOKEN, actor: 'bench', role: 'admin', tenant: 'default' }],
  tokensConfigured: true,
});
say(http.url);
setInterval(() => {}, 60_000);
