import { Agent } from '@openai/agents';
import { z } from 'zod';
import { createEngine, defineAgent, defineTool, LOCAL_CALLER } from '../../src/index.js';
import { add, addInput, INSTRUCTIONS, scriptedModel } from './agent.js';
import { peakMemory } from './peak-memory.js';
import type { Place } from './place.js';

/** One process that executes one run of many turns, or of a large input, and says how long that took, and what memory. */

interface LargeJob {
  readonly place: Place;
  readonly turns: number;
  readonly inputBytes: number;
}

const { place, turns, inputBytes }: LargeJob = JSON.parse(process.argv[2] ?? '{}');
const WAIT_MS = 600_000;

const adds = defineTool({
  ...{ name: 'add', description: 'Adds.', input: addInput, output: z.string(), effect: 'pure' as const },
  capabilities: ['bench:add:numbers'],
  execute: async (input) => add(input),
});
const engine = await createEngine({
  agents: [
    defineAgent({
      agent: new Agent({ name: 'adder', model: scriptedModel(0), instructions: INSTRUCTIONS, tools: [adds] }),
      grants: ['bench:add:*'],
      maxTurns: 10_000,
    }),
  ],
  ...place,
  workerId: 'bench',
});

async function run(count: number, bytes: number): Promise<number> {
  const begin = performance.now();
  // The model reads a number; what fills the input is no part of it.
  const { id } = await engine.startRun({ agent: 'adder', input: String(count).padEnd(bytes) }, LOCAL_CALLER);
  const { status, error } = await engine.getRun(id, LOCAL_CALLER, { waitMs: WAIT_MS });
  if (status !== 'completed') throw new Error(`the run is ${status}: ${JSON.stringify(error)}`);
  return performance.now() - begin;
}

await run(20, 0);
const peak = peakMemory();
const ms = await run(turns, inputBytes);
process.stdout.write(`${JSON.stringify({ ms, mb: peak() })}\n`);
await engine.stop();
process.exit(0);
