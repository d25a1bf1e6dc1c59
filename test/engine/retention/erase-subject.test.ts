import { Agent } from '@openai/agents';
import { afterEach, expect, it } from 'vitest';
import { defineAgent, subAgent } from '../../../src/index.js';
import { askerAgent } from '../../harness/asker-agent.js';
import { describeEachDatabaseSlowly } from '../../harness/database.js';
import { ADMIN, eventsOf, openTestEngine, restOf, type TestEngine } from '../../harness/engine.js';
import { call, say, scripted } from '../../harness/script.js';

const SUBJECT = 'c4n4ry-customer-4711';

const agents = [
  defineAgent({ agent: new Agent({ name: 'plain', model: scripted([[say('done')]]) }) }),
  defineAgent({
    agent: new Agent({
      name: 'parent',
      model: scripted([[call('plain', { input: SUBJECT })]]),
      tools: [subAgent({ agent: 'plain' })],
    }),
    grants: ['tool:call:*'],
  }),
  askerAgent(),
];

describeEachDatabaseSlowly('a subject that is erased', (kind) => {
  let t: TestEngine;
  afterEach(() => t.close());
  const open = async () => {
    t = await openTestEngine(kind, { agents });
  };
  const reason = 'asked for';
  const start = (agent: string, subjects: readonly string[] = [SUBJECT]) =>
    t.engine.startRun({ agent, input: `about ${SUBJECT}`, subjects: [...subjects], metadata: { who: SUBJECT } }, ADMIN);
  /** A run of a session. */
  const talk = async (sessionId: string, input: string, about?: readonly string[]) => {
    const subjects = about && { subjects: [...about] };
    const { id } = await t.engine.startRun({ agent: 'plain', input, sessionId, ...subjects }, ADMIN);
    return restOf(t.engine, id);
  };
  const over = async (agent: string, subjects?: readonly string[]) => {
    const { id } = await start(agent, subjects);
    await expect.poll(async () => (await t.engine.getRun(id, ADMIN)).status).toBe('completed');
    return id;
  };
  const erasedAt = async (id: string) => (await t.engine.getRun(id, ADMIN)).erasedAt;

  it('is in no row any more, with what took over from its runs, and others stay', async () => {
    await open();
    const [plain, parent] = [await over('plain', [SUBJECT, 'another']), await over('parent')];
    const other = await t.engine.startRun({ agent: 'plain', input: 'go', subjects: ['another'] }, ADMIN);
    await restOf(t.engine, other.id);
    const fork = await t.engine.forkRun(plain, { at: (await eventsOf(t.engine, plain)).length - 1 }, ADMIN);
    await restOf(t.engine, fork.id);
    await talk('shared', `about ${SUBJECT}`, [SUBJECT]);
    const later = await talk('shared', 'and then?');
    const listed = await t.engine.listRuns({ subject: SUBJECT, limit: 10 }, ADMIN);
    expect(listed.items).toHaveLength(6);
    expect(listed.items.map(({ id }) => id)).toContain(later.id);
    const dry = await t.engine.eraseSubject({ subject: SUBJECT, reason, dryRun: true }, ADMIN);
    expect(dry).toMatchObject({ id: null, status: 'dry_run', left: 6, notOver: [] });
    expect(await erasedAt(plain)).toBeNull();
    const made = await t.engine.eraseSubject({ subject: SUBJECT, reason }, ADMIN);
    const id = made.id ?? '';
    await expect
      .poll(async () => (await t.engine.getSubjectErasure(id, ADMIN)).status, { timeout: 30_000 })
      .toBe('done');
    expect(await t.engine.getSubjectErasure(id, ADMIN)).toMatchObject({ erased: 6, left: 0, subject: null, reason });
    for (const one of listed.items) {
      expect(await erasedAt(one.id)).not.toBeNull();
      expect(await t.engine.verifyRun(one.id, ADMIN)).toMatchObject({ ok: true, payloads: 'erased' });
    }
    expect(await erasedAt(parent)).not.toBeNull();
    expect((await t.engine.getRun(other.id, ADMIN)).input).toBe('go');
    await expect(t.engine.getSubjectErasure(id, { ...ADMIN, tenant: 'other' })).rejects.toMatchObject({
      code: 'erasure_unknown',
    });
    const rows = await t.between(async (knex) => {
      const { rows: tables } = await knex.raw(
        "select table_schema as s, table_name as t from information_schema.tables where table_schema in ('dbos', 'holdfast')",
      );
      const found: string[] = [];
      for (const { s, t: table } of tables) {
        const { rows: texts } = await knex.raw('select row_to_json(x)::text as row from ??.?? as x', [s, table]);
        found.push(...texts.map(({ row }: { row: string }) => `${s}.${table}: ${row}`));
      }
      return found;
    });
    expect(rows.length).toBeGreaterThan(20);
    expect(rows.filter((row) => row.includes(SUBJECT))).toEqual([]);
    // Afterwards it is a subject like any other, and the session one that no one has spoken in.
    expect(await over('plain')).not.toBe(plain);
    const anew = await talk('shared', 'hello');
    expect(anew.input).toEqual([expect.objectContaining({ content: 'hello' })]);
    expect((await t.engine.listRuns({ subject: SUBJECT, limit: 10 }, ADMIN)).items).toHaveLength(1);
  });

  it('must have no run that is not over, or has it cancelled', async () => {
    await open();
    const { id } = await start('asker');
    await restOf(t.engine, id);
    const refused = t.engine.eraseSubject({ subject: SUBJECT, reason }, ADMIN);
    await expect(refused).rejects.toMatchObject({ code: 'run_not_over', message: expect.stringContaining(id) });
    await t.engine.eraseSubject({ subject: SUBJECT, reason, cancel: true }, ADMIN);
    await expect.poll(() => erasedAt(id), { timeout: 30_000 }).not.toBeNull();
    expect(await t.engine.getRun(id, ADMIN)).toMatchObject({ status: 'cancelled', input: null });
  });

  it('starts no run while it is erased, and the erasure goes on where a process has left it', async () => {
    await open();
    const ids = [await over('plain'), await over('plain')];
    const era = `era_${'0'.repeat(32)}`;
    await t.between((knex) =>
      knex('holdfast.erasure_requests').insert({
        ...{ id: era, tenant: 'default', subject: SUBJECT, status: 'working', cancel: false, actor: 'ada', reason },
        taken_until: knex.raw("now() + interval '4 seconds'"),
      }),
    );
    await expect(start('plain')).rejects.toMatchObject({ code: 'subject_erasing' });
    await expect(t.engine.forkRun(ids[0] ?? '', { at: 2 }, ADMIN)).rejects.toMatchObject({ code: 'subject_erasing' });
    expect(await t.engine.eraseSubject({ subject: SUBJECT, reason: 'again' }, ADMIN)).toMatchObject({ id: era });
    await expect
      .poll(async () => (await t.engine.getSubjectErasure(era, ADMIN)).status, { timeout: 30_000 })
      .toBe('done');
    expect(await t.engine.getSubjectErasure(era, ADMIN)).toMatchObject({ erased: 2, left: 0 });
    for (const id of ids) expect(await erasedAt(id)).not.toBeNull();
  });
});
