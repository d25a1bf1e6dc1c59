import { join } from 'node:path';
import { Agent } from '@openai/agents';
import { z } from 'zod';
import {
  createEngine,
  defineAgent,
  defineTool,
  functionModel,
  LOCAL_CALLER,
  type StartExport,
} from '../../../src/index.js';
import { cloneFinished } from '../clone-finished.js';
import { newPlace, type Place, query } from '../place.js';
import { startProcess } from '../process.js';
import type { Row } from '../row.js';

const CHILD = join(import.meta.dirname, '..', 'export-child.js');
const RUNS = 10_000;
const STEPS = 20;
const MARK = 'what-each-run-has-for-itself';
/** Half a kilobyte, as what models and tools say. */
const TEXT = 'Something that was looked up, and is about as long as what is found. '.repeat(7);

const look = defineTool({
  ...{ name: 'look', description: 'Looks something up.', effect: 'pure', output: z.object({ found: z.string() }) },
  input: z.object({ n: z.int(), what: z.string() }),
  execute: ({ what }) => ({ found: what }),
});

/** Calls its tool in each turn but the last one. */
const model = functionModel('bench-model', ({ input }) => {
  const done = Array.isArray(input) ? input.filter(({ type }) => type === 'function_call_result').length : 0;
  const content = [{ type: 'output_text' as const, text: TEXT }];
  if (done >= STEPS - 1) return [{ type: 'message', role: 'assistant', status: 'completed', content }];
  const args = JSON.stringify({ n: done, what: TEXT });
  return [{ type: 'function_call', callId: `c${done}`, name: 'look', arguments: args, status: 'completed' }];
});

const looker = defineAgent({
  agent: new Agent({ name: 'looker', instructions: 'Look everything up.', tools: [look], model }),
  grants: ['tool:call:look'],
});

async function manyRuns(place: Place, count: number): Promise<void> {
  const engine = await createEngine({ agents: [looker], ...place, workerId: 'bench' });
  const { id } = await engine.startRun({ agent: 'looker', input: `Look up ${MARK}.` }, LOCAL_CALLER);
  const { status, turns } = await engine.getRun(id, LOCAL_CALLER, { waitMs: 60_000 });
  await engine.stop();
  if (status !== 'completed' || turns !== STEPS)
    throw new Error(`the run to be copied is ${status} after ${turns} turns`);
  await cloneFinished((sql) => query(place.databaseUrl ?? '', sql), id, MARK, count - 1);
}

interface Made {
  readonly status: string;
  readonly rows: number;
  readonly seconds: number;
  /** What the process had of the processors. */
  readonly processorSeconds: number;
  readonly mb: number;
}

/** An export in a process of its own, from the request until the folder is there. */
export const EXPORT: Row = {
  name: 'export',
  title: 'an export of 10,000 trajectories of 20 steps, as Parquet and as lines of JSON: time and memory',
  needsPostgres: true,
  roundsMax: 2,
  sides: ['parquet', 'jsonl'],
  measure: async (side, scale) => {
    const place = await newPlace('postgres');
    const count = scale === 'quick' ? RUNS / 10 : RUNS;
    await manyRuns(place, count);
    const encoding = side === 'parquet' ? 'parquet' : 'jsonl';
    const request: StartExport = { format: 'messages', options: { encoding }, to: { folder: side } };
    const child = startProcess([CHILD, JSON.stringify({ place, request })]);
    const made = (await child.line()) as Made;
    await child.gone;
    if (made.status !== 'completed' || made.rows !== count)
      throw new Error(`the export went wrong: ${JSON.stringify(made)}`);
    const what = `${count} runs`;
    return {
      [`${what}, time`]: { value: made.seconds, unit: 's' },
      [`${what}, processor`]: { value: made.processorSeconds, unit: 's' },
      [`${what}, memory`]: { value: made.mb, unit: 'MB' },
    };
  },
};
