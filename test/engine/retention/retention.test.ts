import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { Agent } from '@openai/agents';
import { afterEach, expect, it } from 'vitest';
import type { Caller } from '../../../src/core/caller.js';
import type { RetentionOf } from '../../../src/engine/retention/retention.js';
import { createEngine, defineAgent, type HoldfastConfig } from '../../../src/index.js';
import { askerAgent } from '../../harness/asker-agent.js';
import { describeEachDatabaseSlowly } from '../../harness/database.js';
import { ADMIN, openTestEngine, restOf, runToRest, type TestEngine } from '../../harness/engine.js';
import { say, scripted } from '../../harness/script.js';

const agents = [
  defineAgent({ agent: new Agent({ name: 'plain', model: scripted([[say('done')]]) }) }),
  defineAgent({ agent: new Agent({ name: 'other', model: scripted([[say('done')]]) }) }),
  askerAgent(),
];
const RULES: HoldfastConfig['retention'] = {
  runs: [
    { status: 'completed', olderThanDays: 30, agent: 'plain', do: 'erase' },
    { olderThanDays: 365, do: 'delete' },
    { olderThanDays: 30, tenant: 'acme', do: 'delete' },
  ],
  accessLogDays: 10,
  idempotencyKeysDays: 10,
  exportsDays: 10,
};

describeEachDatabaseSlowly('retention', (kind) => {
  let t: TestEngine;
  afterEach(() => t.close());
  const open = async (retention: HoldfastConfig['retention'] = RULES) => {
    t = await openTestEngine(kind, { agents, retention });
  };
  /** Makes runs as old as if they had been over so many days ago, with all that DBOS has of them. */
  const age = (days: number, ids: readonly string[]) =>
    t.between(async (knex) => {
      for (const id of ids) {
        const then = knex.raw("now() - ? * interval '1 day'", [days]);
        await knex('holdfast.runs').where({ id }).whereNotNull('completed_at').update({ completed_at: then });
        await knex('dbos.workflow_status')
          .where('workflow_uuid', 'like', `${id}%`)
          .update({ completed_at: knex.raw('completed_at - ?::bigint * 86400000', [days]) });
      }
    });
  const codeOf = (id: string) =>
    t.engine.getRun(id, ADMIN).then(
      (run) => (run.erasedAt === null ? 'there' : 'erased'),
      (error: unknown) => (error as { code?: string }).code,
    );
  const done = async (expected: () => Promise<void>) => {
    await t.engine.askForRetention(ADMIN, 'installation');
    await expect.poll(() => expected().then(() => 'as expected', String)).toBe('as expected');
  };
  /** Which of them DBOS has recordings of. */
  const recorded = (...runs: readonly { readonly id: string }[]) =>
    t.between(async (knex) => {
      const kept = (id: string) => knex('dbos.operation_outputs').where('workflow_uuid', 'like', `${id}%`).first();
      const rows = await Promise.all(runs.map(({ id }) => kept(id)));
      return runs.filter((_run, index) => rows[index] !== undefined);
    });

  it('erases and removes what the rules name, and says before what would go', async () => {
    await open();
    const [old, young, ancient] = [
      await runToRest(t.engine, 'plain'),
      await runToRest(t.engine, 'plain'),
      await runToRest(t.engine, 'other'),
    ];
    const [other, waits] = [await runToRest(t.engine, 'other'), await runToRest(t.engine, 'asker')];
    const acme = await runToRest(t.engine, 'other', 'go', { ...ADMIN, tenant: 'acme' });
    await age(400, [ancient.id]);
    await age(31, [old.id, other.id, waits.id, acme.id]);
    const before = await t.engine.verifyRun(ancient.id, ADMIN);
    const preview = await t.engine.previewRetention(ADMIN);
    // A tenant is told of no rule of another one.
    expect(preview.runs.map(({ count }) => count)).toEqual([1, 1]);
    const ofAll = await t.engine.previewRetention(ADMIN, 'installation');
    expect(ofAll.runs.map(({ count }) => count)).toEqual([1, 1, 1]);
    expect(preview.trimmed).toContainEqual({ what: 'accessLog', olderThanDays: 10, count: 0, atLeast: false });
    expect(await codeOf(old.id)).toBe('there');
    const acmeAdmin = { ...ADMIN, tenant: 'acme' };
    await done(async () => {
      expect(await codeOf(old.id)).toBe('erased');
      expect(await codeOf(ancient.id)).toBe('run_unknown');
      await expect(t.engine.getRun(acme.id, acmeAdmin)).rejects.toMatchObject({ code: 'run_unknown' });
    });
    for (const { id } of [young, other, waits]) expect(await codeOf(id)).toBe('there');
    expect(await t.engine.verifyRun(old.id, ADMIN)).toMatchObject({ ok: true, payloads: 'erased' });
    const kept = await t.between(async (knex) => ({
      removed: await knex('holdfast.removed_runs').where({ run_id: ancient.id }).first(),
      charges: await knex('holdfast.charges').where({ run_id: ancient.id }),
      erasure: await knex('holdfast.erasures').where({ run_id: old.id }).first(),
    }));
    const reason = 'retention: delete completed after 365 days';
    expect(kept.removed).toMatchObject({ seq: before.events, hash: before.headHash, actor: 'retention', reason });
    expect(kept.charges).toHaveLength(1);
    expect(kept.erasure).toMatchObject({ actor: 'retention', reason: 'retention: erase completed after 30 days' });
  });

  it('of one tenant takes what is of that tenant alone, and of all tenants is for who operates the installation', async () => {
    await open({
      runs: [{ olderThanDays: 30, do: 'delete' }],
      accessLogDays: 10,
      idempotencyKeysDays: 10,
      exportsDays: 10,
    });
    const acmeAdmin: Caller = { actor: 'zoe', role: 'admin', tenant: 'acme' };
    const row = { actor: 'a', role: 'admin', method: 'POST', route: '/', target: null, status: 200 };
    const [mine, acme] = [await runToRest(t.engine, 'plain'), await runToRest(t.engine, 'plain', 'go', acmeAdmin)];
    for (const [caller, key] of [
      [ADMIN, 'mine'],
      [acmeAdmin, 'acme'],
    ] as const) {
      await t.engine.recordAccess({ ...row, tenant: caller.tenant });
      await t.engine.startRun({ agent: 'plain', input: 'go' }, caller, key);
    }
    await age(40, [mine.id, acme.id]);
    const old = new Date(Date.now() - 11 * 86_400_000);
    await t.between(async (knex) => {
      await knex('holdfast.access_log').update({ at: old });
      await knex('holdfast.idempotency_keys').update({ created_at: old });
    });
    const left = () =>
      t.between(async (knex) => ({
        runs: (await knex('holdfast.runs').whereIn('id', [mine.id, acme.id]).orderBy('tenant').select('tenant')).map(
          ({ tenant }) => tenant,
        ),
        access: (await knex('holdfast.access_log').orderBy('tenant').select('tenant')).map(({ tenant }) => tenant),
        keys: (await knex('holdfast.idempotency_keys').orderBy('tenant').select('tenant')).map(({ tenant }) => tenant),
        asked: (await knex('holdfast.chores').whereNot({ tenant: 'default' }).select('name')).length,
      }));
    for (const refused of [t.engine.askForRetention, t.engine.previewRetention])
      await expect(refused(acmeAdmin, 'installation')).rejects.toMatchObject({ code: 'forbidden' });
    const gone = (caller: Caller, of?: RetentionOf) =>
      expect
        .poll(
          async () => {
            const { runs, trimmed } = await t.engine.previewRetention(caller, of);
            return [...runs, ...trimmed].every(({ count }) => count === 0);
          },
          { timeout: 30_000 },
        )
        .toBe(true);
    expect((await t.engine.askForRetention(acmeAdmin)).runs).toMatchObject([{ count: 1 }]);
    await gone(acmeAdmin);
    expect(await left()).toMatchObject({ runs: ['default'], access: ['default'], keys: ['default'] });
    expect((await t.engine.previewRetention(ADMIN)).runs).toMatchObject([{ count: 1 }]);
    expect((await t.engine.askForRetention(ADMIN, 'installation')).runs).toMatchObject([{ count: 1 }]);
    await gone(ADMIN, 'installation');
    expect(await left()).toEqual({ runs: [], access: [], keys: [], asked: 0 });
  });

  it('trims what DBOS recorded of runs that have no use for it, and rows that are too old', async () => {
    await open();
    const [over, young] = [await runToRest(t.engine, 'other'), await runToRest(t.engine, 'other')];
    const waits = await runToRest(t.engine, 'asker');
    const keyed = await t.engine.startRun({ agent: 'other', input: 'go' }, ADMIN, 'old-key');
    await restOf(t.engine, keyed.id);
    await t.engine.recordAccess({
      tenant: 'default',
      actor: 'ada',
      role: 'admin',
      method: 'POST',
      route: '/',
      target: null,
      status: 200,
    });
    const asked = await t.engine.startExport({ format: 'messages', to: { folder: 'old' } }, ADMIN);
    const exported = () => t.engine.getExport(asked.id, ADMIN);
    await expect.poll(async () => (await exported()).status).toBe('completed');
    await age(8, [over.id, waits.id, asked.id]);
    const old = new Date(Date.now() - 11 * 86_400_000);
    await t.between(async (knex) => {
      await knex('holdfast.access_log').update({ at: old });
      await knex('holdfast.idempotency_keys').update({ created_at: old });
      await knex('holdfast.exports').update({ completed_at: old });
    });
    expect(await recorded(asked, waits)).toEqual([asked, waits]);
    await t.between(async (knex) => {
      await knex('holdfast.system_events').where({ run_id: over.id }).update({ at: old });
    });
    // What waits for the hour would not go now of one tenant.
    expect((await t.engine.previewRetention(ADMIN)).trimmed.map(({ what }) => what)).not.toContain('systemEvents');
    const { trimmed } = await t.engine.previewRetention(ADMIN, 'installation');
    expect(trimmed.map(({ what, count }) => [what, count])).toEqual([
      ['recordings', 3],
      ['accessLog', 1],
      ['idempotencyKeys', 1],
      ['exports', 1],
      ['systemEvents', expect.any(Number)],
    ]);
    await done(async () =>
      expect((await t.engine.previewRetention(ADMIN, 'installation')).trimmed.map(({ count }) => count)).toEqual([
        0, 0, 0, 0, 0,
      ]),
    );
    expect(await recorded(over, waits, young, asked)).toEqual([young]);
    await expect(exported()).rejects.toMatchObject({ code: 'export_unknown' });
    expect(existsSync(join(asked.folder, 'manifest.json'))).toBe(true);
    // What is paused goes on from its log and its snapshot alone; what is over can be forked.
    const { items } = await t.engine.listInterruptions({ runId: waits.id, status: 'pending', limit: 1 }, ADMIN);
    await t.engine.decide(items[0]?.id ?? '', { verdict: 'approve' }, ADMIN);
    await expect.poll(async () => (await t.engine.getRun(waits.id, ADMIN)).status).toBe('completed');
    const fork = await t.engine.forkRun(over.id, { at: 2 }, ADMIN);
    expect(await restOf(t.engine, fork.id)).toMatchObject({ status: 'completed' });
    const again = await t.engine.startRun({ agent: 'other', input: 'go' }, ADMIN, 'old-key');
    expect(again.id).not.toBe(keyed.id);
  });

  it('of a configuration that cannot be is refused by the name of its field', async () => {
    await open();
    const nul = { olderThanDays: 1, tenant: 'a\u0000', do: 'erase' };
    const wrong = { runs: [{ olderThanDays: 0, do: 'burn' }, nul], accessLogDays: -1, more: 1 };
    const config = { agents, retention: wrong as unknown as NonNullable<HoldfastConfig['retention']> };
    await expect(createEngine(config)).rejects.toMatchObject({
      code: 'config_invalid',
      message: expect.stringMatching(
        /retention\.runs\.0\.olderThanDays.*retention\.runs\.0\.do.*retention\.runs\.1\.tenant.*retention\.accessLogDays/,
      ),
    });
  });
});
