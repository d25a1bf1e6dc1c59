import { Agent } from '@openai/agents';
import { z } from 'zod';
import {
  createEngine,
  defineAgent,
  defineTool,
  functionModel,
  LOCAL_CALLER,
  sleepTool,
  waitForEventTool,
} from '../../src/index.js';
import type { Place } from './place.js';

/** One process of a measurement of what comes in numbers: lets runs wait, or works until it is killed. */

export interface NumbersJob {
  readonly place: Place;
  readonly workerId: string;
  /** How long approvals and timers wait. */
  readonly waitSeconds: number;
  readonly act: /** Lets runs wait, for a decision, a time or an event. */
    | { readonly type: 'wait'; readonly agent: 'payer' | 'sleeper' | 'hearer'; readonly count: number }
    | { readonly type: 'work' }
    /** Tells what all wait for. */
    | { readonly type: 'emit' }
    /** Cancels all that wait, each by a request of its own. */
    | { readonly type: 'cancel' };
}

const job: NumbersJob = JSON.parse(process.argv[2] ?? '{}');
const say = (value: unknown): void => void process.stdout.write(`${JSON.stringify(value)}\n`);

const call = (name: string, args: object) => ({
  ...{ type: 'function_call' as const, callId: 'c0', status: 'completed' as const },
  ...{ name, arguments: JSON.stringify(args) },
});
const DONE = {
  ...{ type: 'message' as const, role: 'assistant' as const, status: 'completed' as const },
  content: [{ type: 'output_text' as const, text: 'done' }],
};
/** Asks for one call, and ends when it has its result. */
const asking = (name: string, tool: string, args: object) =>
  functionModel(name, ({ input }) => {
    const isAnswered = Array.isArray(input) && input.some((item) => item.type === 'function_call_result');
    return [isAnswered ? DONE : call(tool, args)];
  });

const pay = defineTool({
  ...{ name: 'pay', description: 'Pays.', input: z.object({}), output: z.string(), effect: 'unsafe' },
  approvalExpiresInMs: job.waitSeconds * 1000,
  execute: () => 'paid',
});

const engine = await createEngine({
  agents: [
    defineAgent({
      agent: new Agent({ name: 'payer', model: asking('payer', 'pay', {}), tools: [pay] }),
      grants: [{ capability: 'tool:call:pay', effect: 'ask' }],
    }),
    defineAgent({
      agent: new Agent({
        name: 'sleeper',
        model: asking('sleeper', 'sleep', { seconds: job.waitSeconds }),
        tools: [sleepTool()],
      }),
      grants: ['time:sleep:timer'],
    }),
    defineAgent({
      agent: new Agent({
        name: 'hearer',
        model: asking('hearer', 'wait_for_event', { name: 'bell' }),
        tools: [waitForEventTool()],
      }),
      grants: ['event:wait:*'],
    }),
  ],
  ...job.place,
  workerId: job.workerId,
});

const AT_ONCE = 32;

/** Does something with each, so many at once. */
async function each(all: readonly string[], one: (it: string) => Promise<void>): Promise<void> {
  const left = [...all];
  const lane = async (): Promise<void> => {
    for (let it = left.pop(); it !== undefined; it = left.pop()) await one(it);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, lane));
}

async function wait(agent: string): Promise<void> {
  const { id } = await engine.startRun({ agent, input: 'go' }, LOCAL_CALLER);
  const { status, error } = await engine.getRun(id, LOCAL_CALLER, { waitMs: 60_000 });
  if (status !== 'paused') throw new Error(`run ${id} is ${status}: ${JSON.stringify(error)}`);
}

async function pausedRuns(): Promise<readonly string[]> {
  const ids: string[] = [];
  for (let cursor: string | undefined | null; cursor !== null; ) {
    const page = await engine.listRuns({ status: 'paused', limit: 100, ...(cursor && { cursor }) }, LOCAL_CALLER);
    ids.push(...page.items.map(({ id }) => id));
    cursor = page.nextCursor;
  }
  return ids;
}

const { act } = job;
const paused = act.type === 'cancel' ? await pausedRuns() : [];
say('ready');
const begin = performance.now();
if (act.type === 'wait') await each(Array(act.count).fill(act.agent), wait);
if (act.type === 'emit') await engine.emitEvent('bell', {}, LOCAL_CALLER);
if (act.type === 'cancel') await each(paused, async (id) => void (await engine.cancelRun(id, null, LOCAL_CALLER)));
if (act.type !== 'work') say((performance.now() - begin) / 1000);
setInterval(() => {}, 60_000);
