import { cpSync, readFileSync, rmSync } from 'node:fs';
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
import type { Database } from '../../../src/storage/database/database.js';
import { openDatabase } from '../../../src/storage/database/open-database.js';
import { createEngineDatabase, describeEachDatabase, onServer, type TestDatabase } from '../../harness/database.js';
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
let stands = true;
const wait = defineTool({
  ...{ name: 'wait', description: 'Does not end, while it is to.', input, output: z.string(), effect: 'pure' },
  execute: ({ n }) => {
    did.push(`wait ${n}`);
    return stands ? new Promise<never>(() => {}) : 'waited';
  },
});
/** Asks for one more payment when it is asked live. */
let isLive = false;
const changing = functionModel('changing', ({ input: items }) => {
  const script = [...PAYS, ...(isLive ? [[call('pay', { n: 3 }, 'c')]] : [])];
  return script[resultsIn(items).length] ?? [say('done')];
});
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
    agent('changes', [], { model: changing }),
    agent('pair', [PAYS.flat()]),
    agent('stands', [[call('pay', { n: 1 }, 'a')], [call('wait', { n: 1 }, 'w')], [call('pay', { n: 2 }, 'b')]], {
      tools: [pay, wait],
    }),
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
    stands = true;
    isLive = false;
  });
  /** While no engine is there. */
  const between = async (work: (knex: Database['knex']) => Promise<unknown>): Promise<void> => {
    await engine.stop({ graceMs: 1000 });
    const opened = await openDatabase(database.options);
    await work(opened.knex).finally(() => opened.close());
    await start();
  };
  /** Copies the database and later sets it back, while no engine is there. */
  const backup = async (): Promise<() => Promise<void>> => {
    const { dataDir, databaseUrl } = database.options;
    await engine.stop({ graceMs: 1000 });
    const name = new URL(databaseUrl ?? 'postgres://none/none').pathname.slice(1);
    if (databaseUrl === null) cpSync(dataDir, `${dataDir}-copy`, { recursive: true });
    else await onServer(`create database ${name}_copy template ${name}`);
    await start();
    return async () => {
      await engine.stop({ graceMs: 1000 });
      if (databaseUrl === null) {
        rmSync(dataDir, { recursive: true });
        cpSync(`${dataDir}-copy`, dataDir, { recursive: true });
        rmSync(`${dataDir}-copy`, { recursive: true });
      } else {
        await onServer(`drop database ${name} with (force)`);
        await onServer(`alter database ${name}_copy rename to ${name}`);
      }
      await start();
    };
  };

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
    'Replay with live models: a call that the log does not have': async () => {
      const run = await always('changes');
      expect(run).toMatchObject({ status: 'completed' });
      did = [];
      isLive = true;
      const report = await engine.replayRun(run.id, { liveModel: true }, ADMIN);
      expect(report).toMatchObject({
        ...{ result: 'diverged', executed: 0 },
        live: { now: { end: 'stopped' }, stopped: { why: 'undecided', callId: 'c', arguments: { n: 3 } } },
      });
      expect(did).toEqual([]);
    },
    'Rebuilt segment': async () => {
      const { id } = await runToRest(engine, 'pays');
      await between((knex) => knex('holdfast.snapshots').where({ run_id: id }).delete());
      expect(await approve(id, { always: true })).toMatchObject({ status: 'completed' });
      expect(did).toEqual(['pay 1', 'pay 2']);
      did = [];
      const begun = await runToRest(engine, 'stands');
      for (const one of await pendingOf(begun.id))
        await engine.decide(one.id, { verdict: 'approve', always: true }, BOB);
      await expect.poll(() => did).toEqual(['pay 1', 'wait 1']);
      // The segment is one that an older build began.
      await between((knex) =>
        knex.raw(`update dbos.workflow_status set application_version = '0' where status in ('PENDING', 'ENQUEUED')`),
      );
      stands = false;
      expect(await restOf(engine, begun.id)).toMatchObject({ status: 'completed' });
      expect(await eventsOf(engine, begun.id, 'segment.rebuilt')).toHaveLength(1);
      expect(did).toEqual(['pay 1', 'wait 1', 'wait 1', 'pay 2']);
      expect(await eventsOf(engine, begun.id, 'interruption.decided')).toHaveLength(1);
      expect(await engine.verifyRun(begun.id, ADMIN)).toMatchObject({ ok: true, complete: true });
    },
    'Repair of a damaged log': async () => {
      const source = await always('pays');
      const lost = await seqOf(source.id, 'call.started');
      await between((knex) =>
        knex('holdfast.events').where({ run_id: source.id, seq: lost }).update({ at: '2001-01-01T00:00:00.000Z' }),
      );
      did = [];
      const { repairedBy } = await engine.repairRun(source.id, { apply: true, accept: ['b'] }, ADMIN);
      const id = repairedBy ?? '';
      expect(await restOf(engine, id)).toMatchObject({ status: 'paused' });
      expect(await pendingOf(id)).toMatchObject([{ callId: 'b' }]);
      expect((await engine.listStandingDecisions(id, { limit: 50 }, BOB)).items).toMatchObject([
        { revokedBy: 'holdfast' },
      ]);
      expect(did).toEqual([]);
    },
    'Database that was set back': async () => {
      const { id } = await runToRest(engine, 'pair');
      const [first, second] = await pendingOf(id);
      const decide = (one: { readonly id: string } | undefined) =>
        engine.decide(one?.id ?? '', { verdict: 'approve' }, BOB);
      await decide(first);
      const setBack = await backup();
      await decide(second);
      expect(await restOf(engine, id)).toMatchObject({ status: 'completed' });
      expect(did.toSorted()).toEqual(['pay 1', 'pay 2']);
      did = [];
      await setBack();
      expect(await restOf(engine, id)).toMatchObject({ status: 'paused' });
      expect(await pendingOf(id)).toMatchObject([{ id: second?.id, decisions: [] }]);
      expect(did).toEqual([]);
      // The first one was approved before the copy was made: it counts, and its call is executed once more.
      await decide(second);
      expect(await restOf(engine, id)).toMatchObject({ status: 'completed' });
      expect(did.toSorted()).toEqual(['pay 1', 'pay 2']);
    },
  };
  /** This needs containers, and is tried by this test of this file. */
  const ELSEWHERE: { readonly [row: string]: readonly [file: string, title: string] } = {
    'Further attempt of a task': [
      'test/tasks/approved-attempts.test.ts',
      'asks again for what its attempt before was allowed',
    ],
  };

  it('has a row for each, and each row is tried', () => {
    const tried = Object.keys(TRIED).map((title) => title.split(':')[0]);
    expect([...ROWS].sort()).toEqual([...new Set(tried), ...Object.keys(ELSEWHERE)].sort());
    for (const [file, title] of Object.values(ELSEWHERE))
      expect(readFileSync(join(ROOT, file), 'utf8')).toContain(`it('${title}'`);
  });
  for (const [row, tried] of Object.entries(TRIED)) it(row, tried);
});
