import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Agent } from '@openai/agents';
import type { Knex } from 'knex';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { HoldfastError } from '../../../src/core/errors/errors.js';
import { makeLogKey } from '../../../src/engine/evidence/log-keys.js';
import { defineAgent, type Engine } from '../../../src/index.js';
import { fence } from '../../../src/storage/dbos/takeover.js';
import { appendEvents, createLog } from '../../../src/storage/log/events.js';
import { beginWork, deleteWorkNotes, endWork, hasDied, workSetAside } from '../../../src/storage/queue/work-notes.js';
import { registerWorker } from '../../../src/storage/queue/workers.js';
import { insertRun } from '../../../src/storage/runs/runs.js';
import { describeBothDatabasesSlowly } from '../../harness/database.js';
import { ADMIN, openTestEngine, runToRest, type TestEngine } from '../../harness/engine.js';
import { say, scripted } from '../../harness/script.js';

const LIMIT = 3;
const scratch = mkdtempSync(join(tmpdir(), 'holdfast-work-'));
afterAll(() => rmSync(scratch, { recursive: true }));
const gone = (epoch: number) => ({ id: 'gone', epoch });

describeBothDatabasesSlowly('work with which processes died', (kind) => {
  let t: TestEngine;
  let runId: string;
  beforeAll(async () => {
    const agents = [defineAgent({ agent: new Agent({ name: 'echo', model: scripted([[say('hello')]]) }) })];
    const signingKeyFile = join(scratch, kind);
    makeLogKey(signingKeyFile, 'holdfast/test');
    t = await openTestEngine(kind, {
      signingKeyFile,
      ...{ agents, crashLimit: LIMIT, evidence: { intervalMs: 100 } },
      retention: { runs: [{ status: 'failed', olderThanDays: 1, do: 'erase' }] },
    });
    runId = (await runToRest(t.engine, 'echo')).id;
  });
  afterAll(() => t.close());

  const of = (name: string) => ({ tenant: 'default', name });
  /** What processes leave that die with a piece of work. */
  const deaths = (name: string, count = LIMIT) =>
    t.between(async (knex) => {
      for (let epoch = 1; epoch <= count; epoch++) await beginWork(knex, of(name), gone(epoch));
    });
  const codeOf = (call: Promise<unknown>): Promise<unknown> =>
    call.then(
      () => 'done',
      (error: unknown) => (error instanceof HoldfastError ? error.code : error),
    );

  /** Runs whose records were read. */
  const indexed = async () => {
    const { items } = await t.engine.listTrajectories({ limit: 100 }, ADMIN);
    return items.flatMap((one) => (one.totalSteps === null ? [] : [one.runId]));
  };

  it('is counted by process, and forgotten with an end', async () => {
    await t.between(async (knex) => {
      const begin = async (epoch: number) => (await beginWork(knex, of('x'), gone(epoch))).deaths;
      expect([await begin(1), await begin(1), await begin(2), await begin(3)]).toEqual([0, 1, 1, 2]);
      // One that leaves by itself has not died.
      await deleteWorkNotes(knex, gone(3));
      const { note, deaths: before } = await beginWork(knex, of('x'), gone(4));
      expect(before).toBe(2);
      await endWork(knex, of('x'), note);
      expect(await begin(5)).toBe(0);
      expect((await beginWork(knex, { tenant: 'other', name: 'x' }, gone(6))).deaths).toBe(0);
      await knex('holdfast.work_notes').delete();
    });
  });

  it('counts no death of a process that was asked to leave, and one that is not heard of any more', async () => {
    await t.between(async (knex) => {
      const now = { build: 'b', recordingVersion: 1, pid: 1, role: 'all' as const, capacity: 1, session: null };
      const register = () => knex.transaction((trx) => registerWorker(trx, { id: 'w', ...now }));
      const died = () => hasDied(knex, of('y'));
      const change = (what: object) => knex('holdfast.workers').where({ id: 'w' }).update(what);
      const first = { id: 'w', epoch: await register() };
      await beginWork(knex, of('y'), first);
      expect(await died()).toBe(false);
      const silent = { heartbeat_at: knex.raw("now() - interval '2 minutes'") };
      await change({ ...silent, leaving_at: knex.fn.now() });
      expect(await died()).toBe(false);
      await change({ leaving_at: null });
      expect(await died()).toBe(true);
      // The next one under its name finds it dead, or asked to leave.
      await change({ stop_asked: 'drain' });
      const second = { id: 'w', epoch: await register() };
      expect(await died()).toBe(false);
      await beginWork(knex, of('y'), second);
      await knex.transaction((trx) => fence(trx, 'w'));
      expect(await died()).toBe(true);
      await knex('holdfast.work_notes').delete();
      await knex('holdfast.workers').where({ id: 'w' }).delete();
    });
  });

  const REQUESTS: readonly (readonly [string, (engine: Engine, id: string) => Promise<unknown>])[] = [
    ['replay', (engine, id) => engine.replayRun(id, {}, ADMIN)],
    ['verify', (engine, id) => engine.verifyRun(id, ADMIN)],
    ['proof', (engine, id) => engine.exportProof(id, { payloads: true }, ADMIN)],
    ['fork', (engine, id) => engine.forkRun(id, { at: 1 }, ADMIN)],
    ['retry', (engine, id) => engine.retryRun(id, {}, ADMIN)],
    ['erase', (engine, id) => engine.eraseRun(id, { reason: 'test' }, ADMIN)],
  ];

  it.each(REQUESTS)('is refused by name when it is asked for: %s', async (what, ask) => {
    await deaths(`${what} ${runId}`, LIMIT - 1);
    const engine = t.engine;
    if (what === 'replay' || what === 'verify') {
      expect(await codeOf(ask(engine, runId))).toBe('done');
      // Its end has taken the deaths away.
      await deaths(`${what} ${runId}`, LIMIT - 1);
      expect(await codeOf(ask(t.engine, runId))).toBe('done');
    }
    await deaths(`${what} ${runId}`);
    await expect(ask(t.engine, runId)).rejects.toMatchObject({
      ...{ code: 'work_crashes', message: `${LIMIT} times a process died with this: ${what} ${runId}.` },
      hint: expect.stringContaining('HOLDFAST_CRASH_LIMIT'),
    });
    expect((await t.engine.getRun(runId, ADMIN)).erasedAt ?? null).toBeNull();
  });

  it('is told once, and seen in health until it is done', async () => {
    await deaths(`verify ${runId}`);
    for (let time = 0; time < 2; time++) await codeOf(t.engine.verifyRun(runId, ADMIN));
    const said = async () => {
      const { items } = await t.engine.listSystemEvents({ after: 0, limit: 1000 }, ADMIN);
      return items.filter(({ kind: one, data }) => one === 'work.set_aside' && data['name'] === `verify ${runId}`);
    };
    // Once for each of the two times that it came to this.
    await expect.poll(async () => (await said()).length).toBe(2);
    expect(await t.engine.health()).toMatchObject({ checks: { work: { status: 'warn' } } });
    await t.between((knex) => knex('holdfast.work_notes').delete());
    expect(await t.engine.health()).toMatchObject({ checks: { work: { status: 'pass' } } });
  });

  it('is listed, and begun again when it is lifted', async () => {
    await deaths(`verify ${runId}`);
    await deaths('verify another', LIMIT - 1);
    const listed = async () => (await t.engine.listSetAside()).items;
    expect(await listed()).toMatchObject([{ tenant: 'default', name: `verify ${runId}`, deaths: LIMIT }]);
    expect(await t.engine.liftWork({ ...of(`verify ${runId}`), tenant: 'acme' })).toEqual({ forgotten: 0 });
    expect(await codeOf(t.engine.verifyRun(runId, ADMIN))).toBe('work_crashes');
    expect(await t.engine.liftWork(of(`verify ${runId}`))).toEqual({ forgotten: LIMIT });
    expect(await codeOf(t.engine.verifyRun(runId, ADMIN))).toBe('done');
    expect(await listed()).toEqual([]);
    await t.engine.liftWork(of('verify another'));
  });

  it('counts for a day', async () => {
    await deaths(`verify ${runId}`);
    expect(await codeOf(t.engine.verifyRun(runId, ADMIN))).toBe('work_crashes');
    await t.between((knex) => knex.raw("update holdfast.work_notes set began_at = now() - interval '25 hours'"));
    expect(await codeOf(t.engine.verifyRun(runId, ADMIN))).toBe('done');
  });

  it('is left out of the chores, which go on with everything else', async () => {
    await deaths('retention');
    await t.engine.askForRetention(ADMIN, 'installation');
    const due = (knex: Knex) =>
      knex('holdfast.chores').where({ name: 'retention' }).first(knex.raw('due_at > now() as later'));
    // Its turn passes, and others are signed and indexed meanwhile.
    const { id } = await runToRest(t.engine, 'echo');
    await expect.poll(async () => (await t.engine.verifyRun(id, ADMIN)).anchor.seq).toBeGreaterThan(0);
    await expect.poll(async () => (await t.engine.health()).checks['work']?.status).toBe('warn');
    await expect.poll(indexed).toContain(id);
    await t.between(async (knex) => {
      expect(await due(knex)).toBeDefined();
      expect(await workSetAside(knex, { crashLimit: LIMIT, tenant: null, limit: 10 })).toMatchObject([
        { tenant: 'default', name: 'retention', deaths: LIMIT },
      ]);
      await knex('holdfast.work_notes').delete();
    });
  });

  it('is left out of the index by run, after it was tried together with others', async () => {
    let one = '';
    await t.between(async (knex) => {
      one = runId;
      await knex('holdfast.trajectories').where({ run_id: one }).delete();
      await knex.raw("insert into holdfast.trajectories_due (run_id, tenant, tries) values (?, 'default', 2)", [one]);
      for (let epoch = 1; epoch <= LIMIT; epoch++) await beginWork(knex, of(`index ${one}`), gone(epoch));
    });
    const other = await runToRest(t.engine, 'echo');

    await expect.poll(indexed).toContain(other.id);
    expect(await indexed()).not.toContain(one);
    await t.between((knex) => knex('holdfast.work_notes').delete());
  });

  it('signs run by run where a process died with signing, and leaves out the one that is to blame', async () => {
    const bad = { id: `run_${randomBytes(16).toString('hex')}` };
    await t.between(async (knex) => {
      await knex.transaction(async (trx) => {
        const agent = { agent: 'echo', agentVersion: '1', agentHash: 'h', input: 'go', grants: [], metadata: {} };
        const limits = { maxTurns: 1, maxTotalTokens: null, maxDurationMs: null };
        await insertRun(trx, { ...bad, tenant: 'default', priority: 1, limits, ...agent });
        await createLog(trx, bad.id, 'default', randomBytes(32).toString('hex'));
        const data = { ...agent, limits, policyVersion: 'p' };
        const at = { at: new Date().toISOString(), worker: null };
        await appendEvents(trx, bad.id, [{ key: 'created', parentKey: null, kind: 'run.created', data }], at);
        await trx('holdfast.runs').where(bad).update({ status: 'completed', completed_at: new Date() });
      });
      await beginWork(knex, of('sign'), gone(1));
      for (let epoch = 1; epoch <= LIMIT; epoch++) await beginWork(knex, of(`enter ${bad.id}`), gone(epoch));
    });
    const good = await runToRest(t.engine, 'echo');
    await expect.poll(async () => (await t.engine.verifyRun(good.id, ADMIN)).anchor.why).toBeNull();
    expect((await t.engine.verifyRun(bad.id, ADMIN)).anchor.seq ?? 0).toBe(0);
    expect((await t.engine.getLog()).problem).toContain('cannot be entered');
    await t.between(async (knex) => {
      for (let epoch = 1; epoch <= LIMIT; epoch++) await beginWork(knex, of('sign what was entered'), gone(epoch));
    });
    expect(await codeOf(t.engine.checkpointNow())).toBe('work_crashes');
    await t.between((knex) => knex('holdfast.work_notes').delete());
    await expect.poll(async () => (await t.engine.verifyRun(bad.id, ADMIN)).anchor.why).toBeNull();
    expect((await t.engine.getLog()).problem).toBeNull();
  });

  it('signs all runs but one that cannot be entered, and names it', async () => {
    const bad = await runToRest(t.engine, 'echo');
    await t.between(async (knex) => {
      await knex('holdfast.log_entries').where({ run_id: 'none' }).delete();
      await knex.raw(`create function holdfast.refuse() returns trigger language plpgsql as
        $$ begin if new.loss is null and new.run_id > '${bad.id}' then return new; end if;
           if new.run_id = '${bad.id}' and new.seq > 1000 then raise 'this row is not well'; end if; return new; end $$`);
      await knex.raw(
        'create trigger refuse before insert on holdfast.log_entries for each row execute function holdfast.refuse()',
      );
      await knex('holdfast.run_heads').where({ run_id: bad.id }).update({ moved: true, seq: 2000 });
    });
    const good = await runToRest(t.engine, 'echo');
    await expect.poll(async () => (await t.engine.verifyRun(good.id, ADMIN)).anchor.why).toBeNull();
    expect((await t.engine.getLog()).problem).toContain('cannot be entered');
  });
});
