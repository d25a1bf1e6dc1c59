import { Agent } from '@openai/agents';
import { createEngine, defineAgent, defineTool, LOCAL_CALLER } from 'holdfast';
import { z } from 'zod';
import { adder } from './adder.js';
import { INSTRUCTIONS, scriptedModel } from './agent.js';
import type { Job, Side } from './side.js';

const WAIT_MS = 600_000;

/** The agent run by Holdfast: checks, log and chain. */
export async function openHoldfast(job: Job): Promise<Side> {
  const begun = new Map<string, (at: number) => void>();
  const asks = defineTool({
    name: 'ask',
    description: 'Asks.',
    input: z.object({}),
    output: z.string(),
    effect: 'pure',
    capabilities: ['bench:ask:people'],
    approval: () => 'Go on?',
    execute: async (_input, { runId }) => {
      begun.get(runId)?.(performance.now());
      return 'yes';
    },
  });
  const model = scriptedModel(job.modelMs);
  const call = {
    type: 'function_call' as const,
    name: 'ask',
    callId: 'c0',
    arguments: '{}',
    status: 'completed' as const,
  };
  const waiting = {
    ...model,
    getResponse: async (request: Parameters<typeof model.getResponse>[0]) => {
      const said = await model.getResponse(request);
      const asked = Array.isArray(request.input) && request.input.some((item) => item.type === 'function_call_result');
      return asked ? said : { ...said, output: [call] };
    },
  };
  const engine = await createEngine({
    agents: [
      adder({ effect: job.effect, modelMs: job.modelMs }),
      defineAgent({
        agent: new Agent({ name: 'asker', model: waiting, instructions: INSTRUCTIONS, tools: [asks] }),
        grants: ['bench:ask:*'],
      }),
    ],
    ...job.place,
    workerId: job.workerId,
    concurrency: job.concurrency,
  });
  const start = async (agent: string, input: string) => (await engine.startRun({ agent, input }, LOCAL_CALLER)).id;
  const restOf = async (id: string, status: string) => {
    const run = await engine.getRun(id, LOCAL_CALLER, { waitMs: WAIT_MS });
    if (run.status !== status) throw new Error(`run ${id} is ${run.status}: ${JSON.stringify(run.error)}`);
    return run;
  };
  return {
    run: async (turns) => void (await restOf(await start('adder', String(turns)), 'completed')),
    start: async (turns) => void (await start('adder', String(turns))),
    pause: async () => {
      const { id } = await restOf(await start('asker', '0'), 'paused');
      return id;
    },
    decide: async (id) => {
      const [interruption = ''] = (await restOf(id, 'paused')).interruptions;
      const begins = new Promise<number>((resolve) => begun.set(id, resolve));
      const at = performance.now();
      await engine.decide(interruption, { verdict: 'approve' }, LOCAL_CALLER);
      const ms = (await begins) - at;
      await restOf(id, 'completed');
      return ms;
    },
    ended: async () => (await engine.countRuns({}, LOCAL_CALLER)).byStatus.completed,
    stop: () => engine.stop(),
  };
}
