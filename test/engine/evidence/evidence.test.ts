import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Invariant } from '../../../src/core/log/invariant.js';
import type { VerifyReport } from '../../../src/core/log/verify-log.js';
import { createEngine, type Engine, type RunEvent } from '../../../src/index.js';
import { openDatabase } from '../../../src/storage/database/open-database.js';
import { createEngineDatabase, describeEachDatabase, type TestDatabase } from '../../harness/database.js';
import { echoAgent } from '../../harness/echo-agent.js';
import { ADMIN, eventsOf, restOf } from '../../harness/engine.js';
import { SLOW } from '../../harness/slow.js';

const config = {
  agents: [echoAgent('one')],
};

/** Ways in which someone with the database's password might rewrite history, and what `verify` must say. */
const ATTACKS: { name: string; sql: string; says: RegExp; seq: number; invariant: Invariant }[] = [
  {
    name: 'a changed payload',
    sql: `update holdfast.events set data = replace(data, 'one', 'two') where RUN and seq = 4`,
    says: /payload was changed/,
    seq: 4,
    invariant: 'payload_hash',
  },
  {
    name: 'a changed time',
    sql: `update holdfast.events set at = '2001-01-01T00:00:00.000Z' where RUN and seq = 3`,
    says: /hash does not fit/,
    seq: 3,
    invariant: 'event_hash',
  },
  {
    name: 'a changed kind',
    sql: `update holdfast.events set kind = 'model.failed' where RUN and seq = 4`,
    says: /hash does not fit/,
    seq: 4,
    invariant: 'event_hash',
  },
  {
    name: 'a removed event',
    sql: `delete from holdfast.events where RUN and seq = 5`,
    says: /expected event 5, found event 6/,
    seq: 5,
    invariant: 'event_order',
  },
  {
    name: 'a cut tail',
    sql: `delete from holdfast.events where RUN and seq > 6`,
    says: /its end is missing/,
    seq: 7,
    invariant: 'log_end',
  },
  {
    name: 'an emptied log',
    sql: `delete from holdfast.events where RUN`,
    says: /its end is missing/,
    seq: 1,
    invariant: 'log_end',
  },
  {
    name: 'two events in each other’s place',
    sql: `update holdfast.events set seq = case seq when 3 then -4 when 4 then -3 else seq end where RUN; update holdfast.events set seq = -seq where RUN and seq < 0`,
    says: /prevHash|hash does not fit/,
    seq: 3,
    invariant: 'event_link',
  },
  {
    name: 'a state that was not',
    sql: `update holdfast.events set state_hash_after = 'sha256:0' where RUN and seq = 2`,
    says: /hash does not fit/,
    seq: 2,
    invariant: 'event_hash',
  },
  {
    name: 'an event of another tenant',
    sql: `update holdfast.events set tenant = 'other' where RUN and seq = 2`,
    says: /another run/,
    seq: 2,
    invariant: 'event_identity',
  },
  {
    name: 'a payload that is written otherwise',
    sql: `update holdfast.events set data = data || ' ' where RUN and seq = 2`,
    says: /not stored as it was written/,
    ...{ seq: 2, invariant: 'payload_text' },
  },
  {
    name: 'a payload that is no JSON any more',
    sql: `update holdfast.events set data = left(data, 9) where RUN and seq = 2`,
    says: /payload was changed/,
    ...{ seq: 2, invariant: 'payload_hash' },
  },
  {
    name: 'another format',
    sql: `update holdfast.events set v = 2 where RUN and seq = 2`,
    says: /hash does not fit/,
    ...{ seq: 2, invariant: 'event_hash' },
  },
  {
    name: 'an event that was moved out of the way',
    sql: `update holdfast.events set seq = -1 where RUN and seq = 4`,
    says: /expected event 1, found event -1/,
    ...{ seq: 1, invariant: 'event_order' },
  },
  {
    name: 'an event that was put between others',
    sql: `update holdfast.events set seq = -seq where RUN and seq > 4; insert into holdfast.events select run_id, 5, tenant, 'between', v, parent_id, kind, at, data, data_hash, state_version, state_hash_before, state_hash_after, prev_hash, hash, worker from holdfast.events where RUN and seq = 4; update holdfast.events set seq = 1 - seq where RUN and seq < 0`,
    says: /prevHash/,
    ...{ seq: 5, invariant: 'event_link' },
  },
  {
    name: 'an event of another run',
    sql: `update holdfast.events e set (data, data_hash, state_hash_before, state_hash_after, prev_hash, hash) = (select o.data, o.data_hash, o.state_hash_before, o.state_hash_after, o.prev_hash, o.hash from holdfast.events o where o.run_id <> e.run_id and o.seq = e.seq and o.kind = e.kind limit 1) where RUN and seq = 4`,
    says: /prevHash/,
    ...{ seq: 4, invariant: 'event_link' },
  },
  {
    name: 'hashes of another kind',
    sql: `update holdfast.events set hash = replace(hash, 'sha256:', 'md5:') where RUN and seq = 4`,
    says: /hash does not fit/,
    ...{ seq: 4, invariant: 'event_hash' },
  },
  {
    name: 'a time of the same instant in another zone',
    sql: `update holdfast.events set at = replace(at, 'Z', '+00:00') where RUN and seq = 3`,
    says: /hash does not fit/,
    ...{ seq: 3, invariant: 'event_hash' },
  },
  {
    name: 'a payload that went through jsonb',
    sql: `update holdfast.events set data = data::jsonb::text where RUN and seq = 4`,
    says: /not stored as it was written/,
    ...{ seq: 4, invariant: 'payload_text' },
  },
  {
    name: 'a number that is written otherwise',
    sql: `update holdfast.events set data = regexp_replace(data, '"inputTokens":([0-9]+)', '"inputTokens":\\1.0') where RUN and seq = 4`,
    says: /not stored as it was written/,
    ...{ seq: 4, invariant: 'payload_text' },
  },
  {
    name: 'a field that is there twice',
    sql: `update holdfast.events set data = '{"turn":9,' || substr(data, 2) where RUN and seq = 4`,
    says: /not stored as it was written/,
    ...{ seq: 4, invariant: 'payload_text' },
  },
  ...['"__proto__":{"a":1}', '"x":"\\ud800"', '"x":NaN', '"x":1e999', '"x":-0'].map((field) => ({
    name: `a payload with ${field}`,
    sql: `update holdfast.events set data = '{${field},' || substr(data, 2) where RUN and seq = 4`,
    says: /payload was changed/,
    ...{ seq: 4, invariant: 'payload_hash' as const },
  })),
  {
    name: 'an event after the end',
    sql: `insert into holdfast.events select run_id, 11, tenant, 'more', v, parent_id, kind, at, data, data_hash, 11, state_hash_before, state_hash_after, prev_hash, hash, worker from holdfast.events where RUN and seq = 10`,
    says: /the log has more/,
    ...{ seq: 11, invariant: 'log_end' },
  },
  {
    name: 'another state at the head',
    sql: `update holdfast.run_heads set state = replace(state, '"turns":2', '"turns":1') where RUN`,
    says: /another state/,
    ...{ seq: 11, invariant: 'log_end' },
  },
  {
    name: 'a head that is no JSON',
    sql: `update holdfast.run_heads set state = 'x' where RUN`,
    says: /another state/,
    ...{ seq: 11, invariant: 'log_end' },
  },
  {
    name: 'an output that is no JSON',
    sql: `update holdfast.runs set output = 'x' where ID`,
    says: /another result/,
    ...{ seq: 11, invariant: 'run_row' },
  },
  {
    name: 'a key that is none',
    sql: `update holdfast.run_keys set key = 'x' where RUN`,
    says: /payload was changed/,
    ...{ seq: 1, invariant: 'payload_hash' },
  },
  {
    name: 'a payload without end',
    sql: `update holdfast.events set data = repeat('[', 3000) || repeat(']', 3000) where RUN and seq = 4`,
    says: /payload was changed/,
    ...{ seq: 4, invariant: 'payload_hash' },
  },
  {
    name: 'a removed head',
    sql: `delete from holdfast.run_heads where RUN`,
    says: /head of the log was removed/,
    ...{ seq: 1, invariant: 'log_end' },
  },
  {
    name: 'a removed key',
    sql: `delete from holdfast.run_keys where RUN`,
    says: /key of the payload is gone/,
    ...{ seq: 1, invariant: 'payload_hash' },
  },
  {
    name: 'another output of the run',
    sql: `update holdfast.runs set output = '"better"' where ID`,
    says: /another result/,
    ...{ seq: 11, invariant: 'run_row' },
  },
  {
    name: 'another status of the run',
    sql: `update holdfast.runs set status = 'failed', error = '{"code":"run_failed"}' where ID`,
    says: /its log ends as completed/,
    ...{ seq: 11, invariant: 'run_row' },
  },
];

describeEachDatabase('evidence', (kind) => {
  let database: TestDatabase;
  let engine: Engine;
  const open = async () => {
    engine = await createEngine({ workerId: 'test', ...config, ...database.options });
  };
  /** Does something to the tables behind the engine's back. */
  const behind = async (sql: string): Promise<void> => {
    await engine.stop({ graceMs: 1000 });
    const opened = await openDatabase(database.options);
    for (const statement of sql.split(';')) await opened.knex.raw(statement);
    await opened.close();
    await open();
  };

  beforeAll(async () => {
    database = await createEngineDatabase(kind);
    await open();
  });
  afterAll(async () => {
    await engine.stop({ graceMs: 1000 });
    await database.drop();
  });

  const run = async (): Promise<string> => {
    const { id } = await engine.startRun({ agent: 'echo', input: 'go' }, ADMIN);
    expect(await restOf(engine, id)).toMatchObject({ status: 'completed' });
    return id;
  };

  it('a whole log verifies, and every event stands in the format', async () => {
    const id = await run();
    expect(await engine.verifyRun(id, ADMIN)).toMatchObject({ ok: true, complete: true, events: 10, broken: null });
    const items = await eventsOf(engine, id);
    expect(items.map((event) => event.seq)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
    const [first, second] = items as [RunEvent, RunEvent];
    expect(first).toMatchObject({ v: 1, id: `${id}:1`, parentId: null, kind: 'run.created', stateVersion: 1 });
    expect(second).toMatchObject({ parentId: `${id}:1`, prevHash: first.hash, stateHashBefore: first.stateHashAfter });
  });

  it.runIf(SLOW)('what was done to a log is found, and the first broken event is named', async () => {
    const attacked: { id: string; attack: (typeof ATTACKS)[number] }[] = [];
    for (const attack of ATTACKS) attacked.push({ attack, id: await run() });
    await behind(
      attacked
        .map(({ attack, id }) => attack.sql.replaceAll('RUN', `run_id = '${id}'`).replaceAll('ID', `id = '${id}'`))
        .join(';'),
    );
    for (const { attack, id } of attacked) {
      const report = await engine.verifyRun(id, ADMIN);
      const { seq, invariant } = report.broken ?? {};
      expect({ attack: attack.name, ok: report.ok, seq, invariant }).toEqual({
        ...{ attack: attack.name, ok: false, seq: attack.seq, invariant: attack.invariant },
      });
      expect(report.broken?.what, attack.name).toMatch(attack.says);
    }
    const whole = await run();
    const all: VerifyReport[] = [];
    for (let cursor: string | null | undefined; cursor !== null; ) {
      const from = cursor === undefined ? {} : { cursor };
      const page: Awaited<ReturnType<Engine['verifyRuns']>> = await engine.verifyRuns({ limit: 7, ...from }, ADMIN);
      all.push(...page.items);
      cursor = page.nextCursor;
    }
    expect(new Set(all.map(({ runId }) => runId)).size).toBe(all.length);
    expect(all[0]).toMatchObject({ runId: whole, ok: true });
    const found = new Map(all.filter(({ ok }) => !ok).map(({ runId, broken }) => [runId, broken]));
    expect(found.size).toBe(attacked.length);
    for (const { attack, id } of attacked)
      expect(found.get(id), attack.name).toMatchObject({ seq: attack.seq, invariant: attack.invariant });
    const failed = await engine.verifyRuns({ status: 'failed', limit: 50 }, ADMIN);
    expect(failed.items.map(({ broken }) => broken?.invariant)).toEqual(['run_row']);
  });

  it.runIf(SLOW)('a range is verified, and one that the log does not have is refused', async () => {
    const id = await run();
    expect(await engine.verifyRun(id, ADMIN, { to: 4 })).toMatchObject({ ok: true, events: 4, complete: false });
    expect(await engine.verifyRun(id, ADMIN, { from: 5, to: 10 })).toMatchObject({ ok: true, complete: true });
    for (const [range, pointer] of [
      [{ from: 5, to: 4 }, '/from'],
      [{ to: 11 }, '/to'],
    ] as const) {
      const fields = [{ pointer }];
      await expect(engine.verifyRun(id, ADMIN, range)).rejects.toMatchObject({ code: 'invalid_request', fields });
    }
    await behind(`update holdfast.events set data = '{}' where run_id = '${id}' and seq = 7`);
    expect(await engine.verifyRun(id, ADMIN, { to: 6 })).toMatchObject({ ok: true, events: 6 });
    expect(await engine.verifyRun(id, ADMIN, { to: 7 })).toMatchObject({ ok: false, events: 6, broken: { seq: 7 } });
  });

  it('a run that goes on while its log is read is not broken', async () => {
    const { id } = await engine.startRun({ agent: 'echo', input: 'go' }, ADMIN);
    for (let complete = false; !complete; ) {
      const report = await engine.verifyRun(id, ADMIN);
      expect(report).toMatchObject({ ok: true, broken: null });
      complete = report.complete;
    }
  });

  it('pages and streams the same events', async () => {
    const id = await run();
    const all = await eventsOf(engine, id);
    const paged: RunEvent[] = [];
    for (let cursor: string | null = '0'; cursor !== null; ) {
      const page: { items: readonly RunEvent[]; nextCursor: string | null } = await engine.listEvents(
        id,
        { after: Number(cursor), limit: 3 },
        ADMIN,
      );
      paged.push(...page.items);
      cursor = page.nextCursor;
    }
    const streamed: RunEvent[] = [];
    for await (const event of engine.streamEvents(id, { after: 4, signal: AbortSignal.timeout(5000) }, ADMIN))
      streamed.push(event);
    expect(paged).toEqual(all);
    expect(streamed).toEqual(all.slice(4));
  });

  it('streams a run while it goes on, to its end', async () => {
    const { id } = await engine.startRun({ agent: 'echo', input: 'go' }, ADMIN);
    const kinds: string[] = [];
    for await (const event of engine.streamEvents(id, { after: 0, signal: AbortSignal.timeout(10_000) }, ADMIN))
      kinds.push(event.kind);
    expect(kinds.at(0)).toBe('run.created');
    expect(kinds.at(-1)).toBe('run.completed');
  });

  it('the same key starts one run; another body under it is refused', async () => {
    const request = { agent: 'echo', input: 'go', metadata: { a: 1 } };
    const both = await Promise.all([engine.startRun(request, ADMIN, 'k1'), engine.startRun(request, ADMIN, 'k1')]);
    expect(both[0]?.id).toBe(both[1]?.id);
    expect((await engine.startRun(request, ADMIN, 'k1')).id).toBe(both[0]?.id);
    await expect(engine.startRun({ ...request, input: 'stop' }, ADMIN, 'k1')).rejects.toMatchObject({
      code: 'idempotency_key_reused',
    });
    const other = await engine.startRun(request, { ...ADMIN, tenant: 'other' }, 'k1');
    expect(other.id).not.toBe(both[0]?.id);
    await expect(engine.getRun(other.id, ADMIN)).rejects.toMatchObject({ code: 'run_unknown' });
    await engine.getRun(both[0]?.id ?? '', ADMIN, { waitMs: 10_000 });
  });
});
