import { Agent } from '@openai/agents';
import type { Knex } from 'knex';
import { expect, it } from 'vitest';
import { defineAgent, functionModel, memorySpace, memoryTools } from '../../../src/index.js';
import { describeBothDatabasesSlowly } from '../../harness/database.js';
import { ADMIN, dataOf, restOf, runToRest } from '../../harness/engine.js';
import { call, outputAfter, say } from '../../harness/script.js';
import { signedEngineFor } from '../../harness/signed-engine.js';

/** Documents of memory that are gone: the signed log says who removed each, and without that the runs that wrote it do not verify. */

const spaces = [
  memorySpace({ name: 'facts', scope: 'tenant', retention: { days: 1 } }),
  memorySpace({ name: 'people', scope: 'user' }),
  memorySpace({ name: 'talk', scope: 'session' }),
];
const remember = (space: string, key: string, id: string) =>
  call('remember', { space, key, content: '{"text":"c4n4ry"}' }, id);

const agent = (name: string, script: Parameters<typeof outputAfter>[0]) =>
  defineAgent({
    agent: new Agent({
      ...{ name, model: functionModel(name, async ({ input }) => outputAfter(script, input)) },
      tools: [...memoryTools(...spaces)],
    }),
    ...{ grants: ['memory:read:*', 'memory:write:*'], memory: spaces },
  });

const agents = [
  agent('writer', [
    [
      ...['one', 'two', 'three'].map((key, at) => remember('facts', key, `f${at}`)),
      ...[remember('people', 'about', 'p'), remember('talk', 'said', 't')],
    ],
    [call('forget', { space: 'facts', key: 'three' }, 'g')],
    [say('done')],
  ]),
  agent('again', [[remember('facts', 'one', 'a')], [say('done')]]),
  agent('reads', [[call('recall', { space: 'facts', key: 'one' }, 'r')], [say('done')]]),
];

describeBothDatabasesSlowly('a document of memory that is removed', (kind) => {
  const t = signedEngineFor(kind, { agents });

  const write = async (name = 'writer', sessionId = 'talk-1') => {
    const { id } = await t.engine.startRun({ agent: name, input: 'go', subjects: ['customer-7'], sessionId }, ADMIN);
    expect(await restOf(t.engine, id)).toMatchObject({ status: 'completed' });
    return id;
  };
  const entries = async () => {
    const { items } = await t.engine.listLogEntries({ after: 0, limit: 100 }, ADMIN);
    return items.flatMap(({ entry }) => (entry !== null && 'document' in entry ? [entry] : []));
  };
  const verify = async (id: string) => {
    const { ok, broken, rows } = await t.engine.verifyRun(id, ADMIN);
    return { ok, said: rows.length > 0 || broken === null ? rows.map(({ what }) => what) : [broken.what] };
  };
  const facts = (knex: Knex, key: string) => knex('holdfast.memory_documents').where({ space: 'facts', key });

  it('has an entry of the signed log in each way to remove it', { timeout: 120_000 }, async () => {
    const id = await write();
    expect(await entries()).toMatchObject([
      { loss: 'forgotten', space: 'facts', version: 1, actor: id, reason: 'A call of the run forgot it' },
    ]);
    const two = { space: 'facts', owner: '', key: 'two', reason: 'ticket 812' };
    expect(await t.engine.forgetMemory(two, ADMIN)).toEqual({ space: 'facts', owner: '', key: 'two', version: 1 });
    await t.engine.deleteSession('talk-1', ADMIN);
    await t.between((knex) => facts(knex, 'one').update({ expires_at: knex.raw("now() - interval '1 second'") }));
    await write('again', 'another');
    expect((await entries()).slice(1)).toMatchObject([
      { space: 'facts', actor: 'ada', reason: 'ticket 812' },
      { space: 'talk', actor: 'ada', reason: 'Its session was deleted' },
      { space: 'facts', actor: 'retention', version: 1 },
    ]);
    await t.between((knex) => facts(knex, 'one').update({ expires_at: knex.raw('now()') }));
    await t.engine.askForRetention(ADMIN);
    await expect.poll(async () => (await entries()).length, { timeout: 30_000 }).toBe(5);
    await t.engine.checkpointNow();
    expect(await verify(id)).toEqual({ ok: true, said: [] });
    expect(await t.engine.verifyLog(ADMIN)).toMatchObject({ ok: true, problems: [] });
    // No entry says whose document it was, or what it said.
    expect(JSON.stringify(await entries())).not.toMatch(/c4n4ry|customer-7|about/);
    const asked = await t.engine.eraseSubject({ subject: 'customer-7', reason: 'asked for' }, ADMIN);
    await expect
      .poll(async () => (await t.engine.getSubjectErasure(asked.id ?? '', ADMIN)).status, { timeout: 20_000 })
      .toBe('done');
    await t.engine.checkpointNow();
    expect(await verify(id)).toEqual({ ok: true, said: [] });
    expect(await t.engine.verifyLog(ADMIN)).toMatchObject({ ok: true, problems: [] });
  });

  it('is told to the runs of others by the entry of a subject that is erased', { timeout: 60_000 }, async () => {
    const id = await write();
    // Its run is about no one any more, so that it stays.
    await t.between((knex) => knex('holdfast.run_subjects').delete());
    await t.engine.eraseSubject({ subject: 'customer-7', reason: 'asked for' }, ADMIN);
    await expect.poll(async () => (await entries()).map(({ space }) => space)).toEqual(['facts', 'people']);
    expect((await entries())[1]).toMatchObject({ actor: 'ada', reason: 'asked for' });
    expect(await verify(id)).toEqual({ ok: true, said: [] });
  });

  it('is missed where no entry says so', { timeout: 60_000 }, async () => {
    const id = await write();
    await t.between((knex) => facts(knex, 'one').delete());
    const missing = { ok: false, said: [expect.stringMatching(/^it is not there, and no entry of the log/)] };
    expect(await verify(id)).toEqual(missing);
    // The log of the run says that it forgot the third.
    const forgot = await entries();
    await t.between(async (knex) => {
      await knex('holdfast.log_entries').where({ loss: 'forgotten' }).delete();
    });
    expect((await verify(id)).said).toContainEqual(expect.stringMatching(/^the call g has forgotten it, and no entry/));
    expect(forgot).toHaveLength(1);
  });

  it('is found where it was put back, or its entry was changed', { timeout: 60_000 }, async () => {
    const id = await write();
    const [row] = await t.between((knex) => facts(knex, 'one'));
    const name = { space: 'facts', owner: '', key: 'one' };
    await t.engine.forgetMemory(name, ADMIN);
    await t.engine.checkpointNow();
    const { search: _search, ...columns } = row;
    await t.between((knex) => knex('holdfast.memory_documents').insert(columns));
    const { id: reads } = await runToRest(t.engine, 'reads');
    expect(await dataOf(t.engine, reads, 'call.finished')).toMatchObject([
      { outcome: { type: 'error', code: 'row_changed' } },
    ]);
    expect((await t.engine.getMemory(name, { after: 0, limit: 10 }, ADMIN)).integrity).toMatchObject([
      { column: 'id', what: 'the log over all runs says that the document was removed' },
    ]);
    expect((await verify(id)).ok).toBe(false);
    expect((await t.engine.verifyLog(ADMIN)).problems).toMatchObject([
      { what: expect.stringContaining('says that a document of memory was removed, which is there') },
    ]);
    await t.engine.forgetMemory(name, ADMIN);
    expect(await verify(id)).toEqual({ ok: true, said: [] });
    await t.between((knex) => knex('holdfast.log_entries').where({ loss: 'forgotten' }).update({ actor: 'bob' }));
    expect((await verify(id)).said).toMatchObject([expect.stringContaining('was changed')]);
  });

  it('is removed all the same when the log over all runs takes no entry', async () => {
    await write();
    await t.between((knex) => knex('holdfast.log_entries').update({ hashes: '' }));
    const name = { space: 'facts', owner: '', key: 'one' };
    expect(await t.engine.forgetMemory(name, ADMIN)).toMatchObject({ version: 1 });
    expect(await entries()).toHaveLength(1);
  });
});
