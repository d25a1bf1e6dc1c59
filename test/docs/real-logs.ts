import { Agent, type MCPServer } from '@openai/agents';
import { z } from 'zod';
import {
  createEngine,
  defineAgent,
  defineTool,
  type Engine,
  functionModel,
  type HoldfastConfig,
  type ScaffoldCall,
  type StepResult,
  subAgent,
} from '../../src/index.js';
import { openDatabase } from '../../src/storage/database/open-database.js';
import { createEngineDatabase } from '../harness/database.js';
import { BUSYBOX, DOCKER_HOST, hasDocker } from '../harness/docker.js';
import { ADMIN, restOf } from '../harness/engine.js';
import { call, say, scripted } from '../harness/script.js';
import type { LogEvent } from './verifier.js';

/** Logs of real runs which, taken together, hold every kind of event. */

export interface RealLog {
  readonly runKey: string;
  readonly events: readonly LogEvent[];
}

const input = z.object({ cents: z.int() });
const output = z.object({ done: z.string() });

const look = defineTool({
  ...{ name: 'look', description: 'Looks at a bill.', effect: 'pure', input, output },
  execute: ({ cents }) => ({ done: `saw ${cents} ¢` }),
});
const pay = defineTool({
  ...{ name: 'pay', description: 'Pays a bill.', input, output },
  approval: ({ cents }) => cents > 100 && `Pay ${cents} ¢?`,
  execute: ({ cents }) => ({ done: `paid ${cents} ¢` }),
});
const stall = defineTool({
  ...{ name: 'stall', description: 'Pays a bill at a bank that never answers.', input, output, timeoutMs: 20 },
  execute: () => new Promise<never>(() => {}),
});

const sign = defineTool({
  ...{ name: 'sign', description: 'Signs a bill.', input, output, approval: true, approvals: 2 },
  execute: ({ cents }) => ({ done: `signed ${cents} ¢` }),
});

const signatures = [
  [call('sign', { cents: 1 }, 'c1')],
  [call('sign', { cents: 2 }, 'c2'), call('pay', { cents: 500 }, 'c3')],
];

/** A server that lists its tool in other words every time. */
const nothing = async (): Promise<void> => {};
let listed = 0;
const shifting: MCPServer = {
  ...{ name: 'bank', cacheToolsList: false, connect: nothing, close: nothing, invalidateToolsCache: nothing },
  listTools: async () => {
    const inputSchema = { type: 'object' as const, properties: {}, required: [], additionalProperties: false };
    return [{ name: 'rates', description: `Rates of day ${++listed}.`, inputSchema }];
  },
  callTool: async () => [{ type: 'text', text: '3 %' }],
};

/** A bill that takes longer than its worker lives. */
let study: (() => void) | null = null;
const read = defineTool({
  ...{ name: 'read', description: 'Reads a bill.', effect: 'pure', input, output },
  execute: ({ cents }) => (study === null ? { done: `read ${cents} ¢` } : new Promise<never>(() => study?.())),
});

/** What a scaffold that needs no container makes of a call. */
const stepOf = ({ arguments: actionTaken }: ScaffoldCall): StepResult => ({
  ...{ actionTaken, observation: { done: 'looked' }, reward: 0.5, done: true, info: { by: 'tidy' } },
});

const script = [
  [call('look', { cents: 50 }, 'c1'), call('pay', { cents: 50 }, 'c2')],
  [call('pay', { cents: 500 }, 'c3')],
  [call('stall', { cents: 7 }, 'c4'), call('look', { cents: 'many' }, 'c5')],
];

const grants = ['tool:call:look', 'tool:call:pay', 'tool:call:stall', 'tool:call:sign'];
const config: HoldfastConfig = {
  agents: [
    defineAgent({
      agent: new Agent({
        name: 'boss',
        model: scripted([[call('looker', { input: 'Look at the bill.' }, 'c6')]]),
        tools: [subAgent({ agent: 'looker' })],
      }),
      grants: ['tool:call:looker', { capability: 'tool:call:look', effect: 'allow', delegate: true }],
    }),
    defineAgent({
      agent: new Agent({ name: 'looker', model: scripted([[call('look', { cents: 9 }, 'c7')]]), tools: [look] }),
      grants: ['tool:call:look'],
    }),
    defineAgent({ agent: new Agent({ name: 'payer', model: scripted(script), tools: [look, pay, stall] }), grants }),
    defineAgent({ agent: new Agent({ name: 'signer', model: scripted(signatures), tools: [sign, pay] }), grants }),
    defineAgent({
      agent: new Agent({
        name: 'mute',
        model: functionModel('mute', () => {
          throw new Error('the model has nothing to say');
        }),
      }),
    }),
    defineAgent({
      agent: new Agent({
        name: 'banker',
        model: scripted([[call('look', { cents: 1 })]]),
        tools: [look],
        mcpServers: [shifting],
      }),
      grants,
    }),
    defineAgent({
      agent: new Agent({ name: 'reader', model: scripted([[call('read', { cents: 2 }, 'c8')]]), tools: [read] }),
      grants: ['tool:call:read'],
    }),
    defineAgent({
      agent: new Agent({ name: 'cleaner', model: scripted([[call('look', { cents: 3 }, 'c9')]]) }),
      grants,
      environment: { image: 'none' },
      scaffold: { name: 'tidy', version: '1', tools: () => [look], initialize: async () => {}, step: stepOf },
    }),
    defineAgent({ agent: new Agent({ name: 'routed', model: 'router/ab' }) }),
    defineAgent({ agent: new Agent({ name: 'greeter', model: scripted([[say('Good morning.')]]) }) }),
  ],
  providers: { lab: { getModel: () => scripted([[say('Good evening.')]]) } },
  routers: { ab: { strategy: 'experiment', arms: [{ name: 'only', model: 'lab/a', share: 1 }] } },
};

const OVER = ['completed', 'failed', 'cancelled'];

/** A task whose tests ran, where there is an engine of containers. */
async function verifiedRun(engine: Engine): Promise<string> {
  const task = {
    ...{ name: 'greet', version: '1.0.0', category: 'words', difficulty: 'easy' as const },
    ...{ instruction: 'Say good morning.', environment: { image: BUSYBOX } },
    verification: {
      tests: [
        { name: 'passes', command: 'true' },
        { name: 'fails', command: 'echo no; false' },
      ],
    },
  };
  const { runId } = await engine.submitTask({ task, agent: 'greeter', seed: 1 }, ADMIN);
  await engine.getRun(runId, ADMIN, { waitMs: 60_000 });
  return runId;
}

export async function realLogs(): Promise<RealLog[]> {
  const { options, drop } = await createEngineDatabase('pglite');
  const dockerHost = hasDocker ? DOCKER_HOST : null;
  const open = () => createEngine({ ...config, dataDir: options.dataDir, turnsPerSegment: 1, dockerHost });
  let engine = await open();
  const rest = (id: string) => restOf(engine, id);
  const start = async (agent: string) => (await engine.startRun({ agent, input: 'Pay the bills.' }, ADMIN)).id;

  const paid = await start('payer');
  while ((await rest(paid)).status === 'paused') {
    const { items } = await engine.listInterruptions({ runId: paid, status: 'pending', limit: 10 }, ADMIN);
    for (const { id, reason } of items) {
      const unknown = reason.code === 'unknown_effect';
      const value = { done: 'paid 7 ¢' };
      await engine.decide(id, unknown ? { verdict: 'answer', value } : { verdict: 'approve', message: 'ok' }, ADMIN);
    }
  }
  const cancelled = await start('payer');
  await rest(cancelled);
  await engine.cancelRun(cancelled, 'not today', ADMIN);
  const failed = await start('mute');
  await rest(failed);
  const boss = await start('boss');
  while (!OVER.includes((await rest(boss)).status)) await new Promise((resolve) => setTimeout(resolve, 20));
  const { items: below } = await engine.listRuns({ parent: boss, limit: 10 }, ADMIN);

  const greeted = await engine.startRun({ agent: 'greeter', input: 'Hello.', sessionId: 'morning' }, ADMIN);
  await rest(greeted.id);

  const routed = await start('routed');
  await rest(routed);

  const { id: forked } = await engine.forkRun(failed, { at: 2 }, ADMIN);
  await rest(forked);

  const signed = await start('signer');
  const waiting = async () => {
    await rest(signed);
    const { items } = await engine.listInterruptions({ runId: signed, status: 'pending', limit: 1 }, ADMIN);
    return items[0]?.id ?? '';
  };
  const asked = await waiting();
  const edited = { verdict: 'approve', always: true, arguments: { cents: 3 } } as const;
  for (const actor of ['ann', 'bea']) await engine.decide(asked, edited, { ...ADMIN, actor });
  const next = await waiting();
  for (const { id } of (await engine.listStandingDecisions(signed, { limit: 50 }, ADMIN)).items)
    await engine.revokeStandingDecision(signed, id, ADMIN);
  await engine.decide(next, { verdict: 'reject', message: 'enough' }, ADMIN);
  await rest(signed);

  const banked = await start('banker');
  await rest(banked);

  const verified = hasDocker ? [await verifiedRun(engine)] : [];

  const tidied = await start('cleaner');
  await rest(tidied);

  const begun = new Promise<void>((resolve) => {
    study = resolve;
  });
  const left = await start('reader');
  await begun;
  await engine.stop({ graceMs: 0 });
  study = null;
  // As if a build of an older recording version had executed it.
  const between = await openDatabase(options);
  await between.knex.raw(`update dbos.workflow_status set application_version = '0' where status = 'PENDING'`);
  await between.close();
  engine = await open();
  await rest(left);

  const ids = [
    left,
    paid,
    routed,
    cancelled,
    failed,
    greeted.id,
    forked,
    signed,
    banked,
    tidied,
    ...verified,
    boss,
    ...below.map((run) => run.id),
  ];
  const page = { after: 0, limit: 1000 };
  const logs = await Promise.all(ids.map(async (id) => (await engine.listEvents(id, page, ADMIN)).items));
  await engine.stop({ graceMs: 1000 });
  const database = await openDatabase(options);
  try {
    const keys: { run_id: string; key: string }[] = await database.knex('holdfast.run_keys');
    const keyOf = new Map(keys.map(({ run_id, key }) => [run_id, key]));
    return logs.map((events, index) => ({ runKey: keyOf.get(ids[index] ?? '') ?? '', events }));
  } finally {
    await database.close();
    await drop();
  }
}
