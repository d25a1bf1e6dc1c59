import { Agent } from '@openai/agents';
import { z } from 'zod';
import { createEngine, defineAgent, defineTool, LOCAL_CALLER } from '../../../src/index.js';
import { add, addInput, INSTRUCTIONS, scriptedModel } from '../agent.js';
import { newPlace } from '../place.js';
import type { Row } from '../row.js';

const WAIT_MS = 600_000;
/** Each a model call and a tool call, and the last answer: 1,000 steps and one. */
const TURNS = 500;

const adder = defineAgent({
  agent: new Agent({
    name: 'adder',
    model: scriptedModel(0),
    instructions: INSTRUCTIONS,
    tools: [
      defineTool({
        ...{ name: 'add', description: 'Adds.', input: addInput, output: z.string(), effect: 'pure' },
        execute: async (input) => add(input),
      }),
    ],
  }),
  grants: ['tool:call:add'],
  maxTurns: 10_000,
});

/** A run of 1,000 steps: what it takes to hold its agent against its log, beside what it took to run. */
export const REPLAY: Row = {
  name: 'replay',
  title: 'a run of 1,000 steps, PGlite: its replay, and the run itself',
  needsPostgres: false,
  roundsMax: 2,
  sides: ['replay', 'run'],
  measure: async (side, scale) => {
    const turns = scale === 'quick' ? TURNS / 5 : TURNS;
    const engine = await createEngine({ agents: [adder], ...(await newPlace('pglite')) });
    try {
      const begun = performance.now();
      const { id } = await engine.startRun({ agent: 'adder', input: String(turns) }, LOCAL_CALLER);
      const { status } = await engine.getRun(id, LOCAL_CALLER, { waitMs: WAIT_MS });
      const ran = performance.now();
      const { result, events } = await engine.replayRun(id, {}, LOCAL_CALLER);
      const replayed = performance.now();
      if (status !== 'completed' || result !== 'same') throw new Error(`${status}: ${result} after ${events} events`);
      const value = (side === 'replay' ? replayed - ran : ran - begun) / 1000;
      return { [`${turns * 2} steps`]: { value, unit: 's' } };
    } finally {
      await engine.stop();
    }
  },
};
