import { createEngine, LOCAL_CALLER } from 'holdfast';
import { adder } from './adder.js';
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

const engine = await createEngine({
  agents: [adder()],
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
