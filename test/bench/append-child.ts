import { createEngine, LOCAL_CALLER } from 'holdfast';
import { adder } from './adder.js';
import { holdLog } from './held-log.js';
import type { Place } from './place.js';

/** One process of a measurement of appending: runs of many turns, one after the other; says what a step of each took. */

interface AppendJob {
  readonly place: Place;
  /** Whether the events of a run are written while it works; else when its last call is made. */
  readonly logged: boolean;
  readonly runs: number;
  readonly turns: number;
}

const { place, logged, runs, turns }: AppendJob = JSON.parse(process.argv[2] ?? '{}');
/** Turns of a run before the first that counts. */
const WARM_UP = 100;

const log = holdLog();
let calls = 0;
let written = 0;
let begun: { readonly at: number; readonly call: number } | null = null;
let stepMs = Number.NaN;

/** What counts begins behind a batch of events, so that as many batches are in it as in any other stretch, or none. */
function onCall(): void {
  calls++;
  if (calls === WARM_UP) {
    written = log.count();
    if (!logged) log.hold();
  }
  if (begun === null && calls > WARM_UP && log.count() > written) begun = { at: performance.now(), call: calls };
  if (calls < turns) return;
  // A turn is a model call and a tool call.
  if (begun !== null) stepMs = (performance.now() - begun.at) / (2 * (calls - begun.call));
  log.release();
}

const engine = await createEngine({
  agents: [adder({ onCall })],
  ...place,
  workerId: 'bench',
  // A segment ends with what it has logged.
  turnsPerSegment: 10_000,
});
const taken: number[] = [];
for (let run = 0; run <= runs; run++) {
  [calls, begun, stepMs] = [0, null, Number.NaN];
  const { id } = await engine.startRun({ agent: 'adder', input: String(turns) }, LOCAL_CALLER);
  const { status } = await engine.getRun(id, LOCAL_CALLER, { waitMs: 600_000 });
  if (status !== 'completed' || Number.isNaN(stepMs)) throw new Error(`the run is ${status} after ${calls} calls`);
  // The first one warms up.
  if (run > 0) taken.push(stepMs);
}
process.stdout.write(`${JSON.stringify(taken)}\n`);
await engine.stop();
process.exit(0);
