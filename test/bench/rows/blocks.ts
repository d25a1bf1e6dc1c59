import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { Agent } from '@openai/agents';
import { z } from 'zod';
import { makeLogKey } from '../../../src/engine/evidence/log-keys.js';
import { createHttpServer } from '../../../src/http/server.js';
import { createEngine, defineAgent, defineTool, type Engine, LOCAL_CALLER } from '../../../src/index.js';
import { add, addInput, INSTRUCTIONS, scriptedModel } from '../agent.js';
import { newPlace } from '../place.js';
import type { Row, Scale, Values } from '../row.js';

const TURNS = 2000;
const WAIT_MS = 600_000;
const TOKEN = 'token-of-the-bench-0123456789';

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

interface Taken {
  /** For how long nothing else of the process ran, at most. */
  readonly longest: number;
  /** The same without the time in which the machine did something else: of the processor between two turns of the event loop. */
  readonly longestBusy: number;
  readonly whole: number;
  readonly wholeBusy: number;
}

const SCHEDULED = '/proc/thread-self/schedstat';
/** For so long this thread has had a processor, in milliseconds; only Linux says it. */
const busyMs = (): number =>
  existsSync(SCHEDULED) ? Number(readFileSync(SCHEDULED, 'latin1').split(' ')[0]) / 1e6 : Number.NaN;

/** Watches for how long the thread works between two turns of its event loop, at most. */
function watchBusy(): () => { readonly longestBusy: number; readonly wholeBusy: number } {
  const first = busyMs();
  let last = first;
  let longestBusy = 0;
  const timer = setInterval(() => {
    const now = busyMs();
    longestBusy = Math.max(longestBusy, now - last);
    last = now;
  }, 2);
  return () => {
    clearInterval(timer);
    return { longestBusy, wholeBusy: last - first };
  };
}

/** How long some work takes, and for how long it keeps the event loop to itself at most, in milliseconds. */
async function taken(work: () => Promise<unknown>): Promise<Taken> {
  const delay = monitorEventLoopDelay({ resolution: 1 });
  delay.enable();
  const busy = watchBusy();
  const begun = performance.now();
  await work();
  const whole = performance.now() - begun;
  // What comes late because of the last of it is counted, too.
  await new Promise((resolve) => setTimeout(resolve, 20));
  delay.disable();
  return { longest: delay.max / 1e6, whole, ...busy() };
}

/** Work with a long run, by its name. */
const worksOn = (engine: Engine, id: string, url: string): Readonly<Record<string, () => Promise<unknown>>> => {
  const get = async (path: string): Promise<void> => {
    const answer = await fetch(`${url}/api/v1${path}`, { headers: { Authorization: `Bearer ${TOKEN}` } });
    if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
    await answer.arrayBuffer();
  };
  const rest = async ({ id: other }: { readonly id: string }) =>
    engine.getRun(other, LOCAL_CALLER, { waitMs: WAIT_MS });
  let fork = id;
  let last = 1;
  return {
    replay: () => engine.replayRun(id, {}, LOCAL_CALLER),
    verify: async () => {
      // The fork begins before what the last turns have done.
      last = (await engine.verifyRun(id, LOCAL_CALLER)).events - 20;
    },
    state: () => engine.stateAt(id, last, LOCAL_CALLER),
    events: () => get(`/runs/${id}/events?limit=200`),
    trajectory: () => get(`/runs/${id}/trajectory`),
    checkpoint: () => engine.checkpointNow(),
    'verify log': () => engine.verifyLog(LOCAL_CALLER),
    proof: () => get(`/runs/${id}/proof`),
    fork: async () => {
      const forked = await engine.forkRun(id, { at: last }, LOCAL_CALLER);
      fork = forked.id;
      await rest(forked);
    },
    diff: () => engine.diffRuns(id, fork, LOCAL_CALLER),
    export: async () => {
      const { id: exported } = await engine.startExport({ format: 'jsonl', to: { folder: 'bench' } }, LOCAL_CALLER);
      for (;;) {
        const { status } = await engine.getExport(exported, LOCAL_CALLER);
        if (status === 'completed') return;
        if (status === 'failed') throw new Error('the export failed');
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
    },
  };
};

let measured: Promise<ReadonlyMap<string, Taken>> | undefined;

async function measureAll(scale: Scale): Promise<ReadonlyMap<string, Taken>> {
  const turns = scale === 'quick' ? TURNS / 4 : TURNS;
  const place = await newPlace('postgres');
  const signingKeyFile = join(place.dataDir, 'bench-key');
  makeLogKey(signingKeyFile, 'holdfast/bench');
  const engine = await createEngine({ agents: [adder], ...place, signingKeyFile });
  const silent = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };
  const http = await createHttpServer(engine, {
    ...{ host: '127.0.0.1', port: 0, maxBodyBytes: 1e6, log: silent, tokensConfigured: true },
    tokens: [{ token: TOKEN, ...LOCAL_CALLER }],
  });
  try {
    const all = new Map<string, Taken>();
    let id = '';
    all.set(
      'the run itself',
      await taken(async () => {
        ({ id } = await engine.startRun({ agent: 'adder', input: String(turns) }, LOCAL_CALLER));
        const { status, error } = await engine.getRun(id, LOCAL_CALLER, { waitMs: WAIT_MS });
        if (status !== 'completed') throw new Error(`the run is ${status}: ${JSON.stringify(error)}`);
      }),
    );
    for (const [name, work] of Object.entries(worksOn(engine, id, http.url))) {
      const took = await taken(work);
      process.stderr.write(
        `${name}: ${took.longest.toFixed(0)} of ${took.whole.toFixed(0)} ms, processor ${took.longestBusy.toFixed(0)} of ${took.wholeBusy.toFixed(0)} ms\n`,
      );
      all.set(name, took);
    }
    return all;
  } finally {
    await http.close(0);
    await engine.stop();
  }
}

/** For how long work with a run of 2,000 turns keeps everything else of its process waiting, against how long it takes. */
export const BLOCKS: Row = {
  name: 'blocks',
  title:
    'work with a run of 2,000 turns, PostgreSQL: the longest time in which nothing else of the process ran, and the whole',
  needsPostgres: true,
  onDemand: true,
  roundsMax: 1,
  sides: ['longest', 'whole'],
  measure: async (side, scale) => {
    measured ??= measureAll(scale);
    const isLongest = side === 'longest';
    const values = [...(await measured)].flatMap(([name, each]) => [
      [name, { value: isLongest ? each.longest : each.whole, unit: 'ms' }],
      [`${name}, processor`, { value: isLongest ? each.longestBusy : each.wholeBusy, unit: 'ms' }],
    ]);
    return Object.fromEntries(values) as Values;
  },
};
