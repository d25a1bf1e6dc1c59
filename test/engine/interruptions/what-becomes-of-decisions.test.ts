import { cpSync, existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { Agent, handoff } from '@openai/agents';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { z } from 'zod';
import {
  createEngine,
  defineAgent,
  defineConfig,
  defineTool,
  type Engine,
  functionModel,
  type RunView,
  subAgent,
} from '../../../src/index.js';
import { createEngineDatabase, describeEachDatabase, type TestDatabase } from '../../harness/database.js';
import { ADMIN, BOB, eventsOf, restOf, runToRest } from '../../harness/engine.js';
import { call, resultsIn, say, scripted } from '../../harness/script.js';

/** The table of docs/approvals/forks.md that says what becomes of decisions: each row of it is tried. */

const ROOT = join(import.meta.dirname, '../../..');
const PAGE = readFileSync(join(ROOT, 'docs/approvals/forks.md'), 'utf8');
const ROWS = (PAGE.split('## What becomes of decisions')[1]?.split('\n## ')[0] ?? '')
  .split('\n')
  .flatMap((line) => /^\| \*\*(.+?)\*\*/.exec(line)?.[1] ?? []);

let did: string[] = [];
let hangs = false;
const input = z.object({ n: z.number() });
const pay = defineTool({
  ...{ name: 'pay', description: 'Pays.', input, output: z.string(), approval: true },
  execute: async ({ n }, { signal }) => {
    did.push(`pay ${n}`);
    if (hangs) await new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('late'))));
    return `paid ${n}`;
  },
});
const grants = ['tool:call:*', { capability: 'tool:call:pay', effect: 'allow', delegate: true }] as const;
const PAYS = [[call('pay', { n: 1 }, 'a')], [call('pay', { n: 2 }, 'b')]];
const second = new Agent({ name: 'second', model: scripted([...PAYS, [call('pay', { n: 3 }, 'c')]]), tools: [pay] });
/** Pays twice for each thing that it is told in a conversation. */
const talking = functionModel('talking', ({ input: items }) => {
  const paid = resultsIn(items).length;
  const last = Array.isArray(items) ? items.at(-1) : undefined;
  const isDone = last?.type === 'function_call_result' && paid % 2 === 0;
  return isDone ? [say('done')] : [call('pay', { n: paid + 1 }, `call_${paid}`)];
});
const agent = (name: string, outputs: Parameters<typeof scripted>[0], more: object = {}, limits: object = {}) =>
  defineAgent({ agent: new Agent({ name, model: scripted(outputs), tools: [pay], ...more }), grants, ...limits });
const config = defineConfig({
  agents: [
    agent('pays', PAYS),
    agent('talks', [], { model: talking }),
    agent('short', PAYS, {}, { maxDurationMs: 1500 }),
    agent('gives', [[call('pay', { n: 1 }, 'a')], [call('transfer_to_second', {}, 'h')]], {
      handoffs: [handoff(second)],
    }),
    agent('parent', [[call('pay', { n: 1 }, 'a')], [call('below', { input: 'Pay.' }, 'c')]], {
      tools: [pay, subAgent({ agent: 'pays', name: 'below' })],
    }),
  ],
});

describeEachDatabase('what becomes of decisions', (kind) => {
  let database: TestDatabase;
  let engine: Engine;
  const start = async () => {
    engine = await createEngine({ ...config, ...database.options, workerId: 'test' });
  };
  beforeAll(async () => {
    database = await createEngineDatabase(kind);
    await start();
  });
  afterAll(async () => {
    await engine.stop({ graceMs: 1000 });
    await database.drop();
  });
  beforeEach(() => {
    did = [];
    hangs = false;
  });

  const pendingOf = async (runId: string) =>
    (await engine.listInterruptions({ status: 'pending', runId, limit: 10 }, BOB)).items;
  const approve = async (runId: string, more: object = {}) => {
    for (const { id } of await pendingOf(runId)) await engine.decide(id, { verdict: 'approve', ...more }, BOB);
    return restOf(engine, runId);
  };
  const seqOf = async (runId: string, name: string) =>
    (await eventsOf(engine, runId)).findLast(({ kind: one }) => one === name)?.seq ?? 0;
  /** The first call was approved, with all that are like it. */
  const always = async (name: string, sessionId?: string): Promise<RunView> => {
    const ofSession = sessionId === undefined ? {} : { sessionId };
    const { id } = await engine.startRun({ agent: name, input: 'go', ...ofSession }, ADMIN);
    await restOf(engine, id);
    return approve(id, { always: true });
  };

  const TRIED: { readonly [row: string]: () => Promise<void> } = {
    Fork: async () => {
      const source = await always('pays');
      expect(source.status).toBe('completed');
      const { id } = await engine.forkRun(source.id, { at: await seqOf(source.id, 'standing_decision.made') }, ADMIN);
      expect(await restOf(engine, id)).toMatchObject({ status: 'paused' });
      expect((await pendingOf(id))[0]?.reason.text).toContain(`approved in run ${source.id} by bob`);
      expect((await engine.listStandingDecisions(id, { limit: 50 }, BOB)).items).toMatchObject([
        { revokedBy: 'holdfast' },
      ]);
      expect(did).toEqual(['pay 1', 'pay 2']);
    },
    'Retry of a failed run': async () => {
      hangs = true;
      const failed = await always('short');
      expect(failed).toMatchObject({ status: 'failed', error: { code: 'limit_wall_time' } });
      hangs = false;
      const { id } = await engine.retryRun(failed.id, {}, ADMIN);
      await restOf(engine, id);
      expect(await pendingOf(id)).toMatchObject([{ callId: 'a', reason: { code: 'unknown_effect' } }]);
      expect(did).toEqual(['pay 1']);
    },
    Handoff: async () => {
      const run = await always('gives');
      expect(await pendingOf(run.id)).toMatchObject([{ agent: 'second' }]);
      expect(did).toEqual(['pay 1']);
    },
    'Child run': async () => {
      const parent = await always('parent');
      const { items } = await engine.listRuns({ parent: parent.id, limit: 5 }, ADMIN);
      const child = items[0]?.id ?? '';
      await restOf(engine, child);
      expect(await pendingOf(child)).toMatchObject([{ callId: 'a' }]);
      expect(did).toEqual(['pay 1']);
    },
    'Next run of a session': async () => {
      expect(await always('talks', `s-${kind}`)).toMatchObject({ status: 'completed' });
      did = [];
      const { id } = await engine.startRun({ agent: 'talks', input: 'go', sessionId: `s-${kind}` }, ADMIN);
      expect(await restOf(engine, id)).toMatchObject({ status: 'paused' });
      expect(await pendingOf(id)).toMatchObject([{ arguments: { n: 3 } }]);
      expect((await engine.listStandingDecisions(id, { limit: 50 }, BOB)).items).toEqual([]);
      expect(did).toEqual([]);
    },
    Replay: async () => {
      const run = await always('pays');
      did = [];
      expect(await engine.replayRun(run.id, {}, ADMIN)).toMatchObject({ result: 'same' });
      expect(did).toEqual([]);
    },
    'Replay with live models': async () => {
      const run = await always('pays');
      did = [];
      expect(await engine.replayRun(run.id, { liveModel: true }, ADMIN)).toMatchObject({ result: 'same' });
      expect(did).toEqual([]);
    },
    'Database that was set back': async () => {
      const { dataDir = '' } = database.options;
      const { id } = await runToRest(engine, 'pays');
      await engine.stop({ graceMs: 1000 });
      cpSync(dataDir, `${dataDir}-copy`, { recursive: true });
      await start();
      await approve(id);
      expect(did).toEqual(['pay 1']);
      await engine.stop({ graceMs: 1000 });
      rmSync(dataDir, { recursive: true });
      cpSync(`${dataDir}-copy`, dataDir, { recursive: true });
      rmSync(`${dataDir}-copy`, { recursive: true });
      await start();
      expect(await pendingOf(id)).toMatchObject([{ callId: 'a', decisions: [] }]);
      expect(await restOf(engine, id)).toMatchObject({ status: 'paused' });
      expect(did).toEqual(['pay 1']);
    },
  };
  /** These need other processes or containers, and are tried by these files. */
  const ELSEWHERE: { readonly [row: string]: string } = {
    'Rebuilt segment': 'test/crash/deploys.test.ts',
    'Further attempt of a task': 'test/tasks/further-attempts.test.ts',
    'Repair of a damaged log': 'test/engine/replay/repair.test.ts',
  };

  it('has a row for each, and each row is tried', () => {
    expect([...ROWS].sort()).toEqual([...Object.keys(TRIED), ...Object.keys(ELSEWHERE)].sort());
    for (const file of Object.values(ELSEWHERE)) expect(existsSync(join(ROOT, file)), file).toBe(true);
  });
  // A server has its own way back; the files of the embedded database are copied.
  const isEmbedded = kind === 'pglite';
  for (const [row, tried] of Object.entries(TRIED))
    it.skipIf(!isEmbedded && row === 'Database that was set back')(row, tried);
});
