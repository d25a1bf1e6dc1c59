import type { EventDraft } from '../../../src/core/log/event.js';
import { callDigest } from '../../../src/core/runs/call.js';
import { createEngine, type Engine, LOCAL_CALLER } from '../../../src/index.js';
import { openDatabase } from '../../../src/storage/database/open-database.js';
import { appendEvents, createLog } from '../../../src/storage/log/events.js';
import { insertRun } from '../../../src/storage/runs/runs.js';
import { newPlace, type Place } from '../place.js';
import type { Row } from '../row.js';

const POLICY = 'sha256:policy';
const TEXT = 'An answer of some length, as models give them. '.repeat(16);
const LONG = 'run_long';
const EVENTS_PER_TURN = 5;

/** One turn as the agent of the other rows takes it: a request, an answer, and a call that is checked, begun and over. */
function turnOf(runId: string, turn: number): EventDraft[] {
  const callId = `call_${turn}`;
  const call = { callId, tool: 'add', toolVersion: '1', arguments: { a: turn, b: 2, text: TEXT } };
  const digest = callDigest({ runId, ...call, policyVersion: POLICY });
  const model = { turn, agent: 'adder', model: 'bench' };
  const output = [{ type: 'function_call', callId, name: 'add', arguments: JSON.stringify(call.arguments) }];
  const usage = { inputTokens: 100, outputTokens: 20, totalTokens: 120 };
  const checks = [
    { capability: 'bench:add:numbers', effect: 'allow' as const, rule: 'bench:add:*', reason: 'granted' },
  ];
  const judged = { effect: 'pure' as const, digest, decision: 'allow' as const, checks, reason: 'granted' };
  const key = (n: number): string => `0:${turn * EVENTS_PER_TURN + n}`;
  const asked = { ...model, inputItems: turn, inputDigest: digest, tools: ['add'] };
  return [
    { key: key(0), parentKey: 'created', kind: 'model.requested', data: asked },
    { key: key(1), parentKey: key(0), kind: 'model.responded', data: { ...model, responseId: null, output, usage } },
    { key: key(2), parentKey: key(1), kind: 'call.checked', data: { ...call, ...judged } },
    { key: key(3), parentKey: key(2), kind: 'call.started', data: { callId, tool: 'add', effect: 'pure' } },
    {
      ...{ key: key(4), parentKey: key(3), kind: 'call.finished' },
      data: { callId, tool: 'add', outcome: { type: 'output', output: TEXT } },
    },
  ];
}

const limits = { maxTurns: 10_000, maxTotalTokens: null, maxDurationMs: null };

async function writeRun(db: Awaited<ReturnType<typeof openDatabase>>, id: string, turns: number): Promise<number> {
  const agent = { agent: 'adder', agentVersion: '1', agentHash: 'h', input: 'go', grants: [], limits, metadata: {} };
  const begin: EventDraft[] = [
    { key: 'created', parentKey: null, kind: 'run.created', data: { ...agent, policyVersion: POLICY } },
    { key: '0:0', parentKey: 'created', kind: 'segment.started', data: { segment: 0, decisions: [] } },
  ];
  const drafts = [...begin, ...Array.from({ length: turns }, (_, n) => turnOf(id, n + 1)).flat()];
  await db.knex.transaction(async (trx) => {
    await insertRun(trx, { id, tenant: LOCAL_CALLER.tenant, priority: 1, ...agent });
    await createLog(trx, id, LOCAL_CALLER.tenant, 'ab'.repeat(32));
    for (let from = 0; from < drafts.length; from += 500)
      await appendEvents(trx, id, drafts.slice(from, from + 500), { at: new Date().toISOString(), worker: null });
  });
  return drafts.length;
}

async function logsIn(place: Place, turns: number, runs: number): Promise<{ long: number; many: number }> {
  const database = await openDatabase(place);
  try {
    const long = await writeRun(database, LONG, turns);
    let many = 0;
    for (let n = 0; n < runs; n++) many += await writeRun(database, `run_short_${n}`, 10);
    return { long, many };
  } finally {
    await database.close();
  }
}

async function readLog(engine: Engine, id: string): Promise<void> {
  for (let after: string | null = '0'; after !== null; )
    after = (await engine.listEvents(id, { after: Number(after), limit: 1000 }, LOCAL_CALLER)).nextCursor;
}

const SIDES: { readonly [side: string]: { one(engine: Engine): Promise<void>; all(engine: Engine): Promise<void> } } = {
  verify: {
    one: async (engine) => {
      const { ok, broken } = await engine.verifyRun(LONG, LOCAL_CALLER);
      if (!ok) throw new Error(`the log does not verify: ${JSON.stringify(broken)}`);
    },
    all: async (engine) => {
      for (let cursor: string | null | undefined; cursor !== null; ) {
        const page: Awaited<ReturnType<Engine['verifyRuns']>> = await engine.verifyRuns(
          { limit: 200, ...(cursor === undefined ? {} : { cursor }) },
          LOCAL_CALLER,
        );
        const wrong = page.items.find(({ ok }) => !ok);
        if (wrong !== undefined) throw new Error(`a log does not verify: ${JSON.stringify(wrong)}`);
        cursor = page.nextCursor;
      }
    },
  },
  read: {
    one: (engine) => readLog(engine, LONG),
    all: async (engine) => {
      for (let cursor: string | null | undefined; cursor !== null; ) {
        const page: Awaited<ReturnType<Engine['listRuns']>> = await engine.listRuns(
          { limit: 200, ...(cursor === undefined ? {} : { cursor }) },
          LOCAL_CALLER,
        );
        for (const { id } of page.items) await readLog(engine, id);
        cursor = page.nextCursor;
      }
    },
  },
};

/** How fast logs are verified, one long one and all of a database; against reading the same events. */
export const VERIFY: Row = {
  name: 'verify',
  title: 'events that are verified per second, against reading them, PostgreSQL',
  needsPostgres: true,
  sides: ['verify', 'read'],
  measure: async (name, scale) => {
    const side = SIDES[name];
    if (side === undefined) throw new Error(`There is no side ${name}.`);
    const place = await newPlace('postgres');
    const share = scale === 'quick' ? 4 : 1;
    const engine = await createEngine({ agents: [], ...place, workerId: 'bench', role: 'api' });
    try {
      const { long, many } = await logsIn(place, 4000 / share, 400 / share);
      await side.one(engine);
      const rate = async (events: number, work: (engine: Engine) => Promise<void>) => {
        const begun = performance.now();
        await work(engine);
        return { value: (events * 1000) / (performance.now() - begun), unit: 'events/s' as const };
      };
      return { 'one log': await rate(long, side.one), 'all logs': await rate(long + many, side.all) };
    } finally {
      await engine.stop();
    }
  },
};
