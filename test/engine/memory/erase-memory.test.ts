import { Agent } from '@openai/agents';
import { expect, it } from 'vitest';
import { defineAgent, functionModel, memorySpace, memoryTools } from '../../../src/index.js';
import { describeEachDatabaseSlowly } from '../../harness/database.js';
import { ADMIN, engineFor, restOf } from '../../harness/engine.js';
import { call, outputAfter, say } from '../../harness/script.js';

/** What an erasure, the end of a session and retention take out of memory, its history and its index. */

const SECRET = 'c4n4ry';

const spaces = [
  memorySpace({ name: 'facts', scope: 'tenant' }),
  memorySpace({ name: 'people', scope: 'user' }),
  memorySpace({ name: 'talk', scope: 'session' }),
  memorySpace({ name: 'scratch', scope: 'run' }),
  memorySpace({ name: 'news', scope: 'tenant', retention: { days: 1 } }),
];

const asks = (text: string) =>
  JSON.stringify(text).includes(SECRET)
    ? { content: `{"by":{"${SECRET}-name":"${SECRET}-one"},"list":["${SECRET}-two"],"n":1}`, who: SECRET }
    : { content: '{"by":{"other":"kept"},"list":["kept"]}', who: 'other' };

const agents = [
  defineAgent({
    agent: new Agent({
      ...{ name: 'writer', tools: [...memoryTools(...spaces)] },
      model: functionModel('writer', async ({ input }) => {
        const { content, who } = asks(JSON.stringify(input));
        const script = [
          [
            call('remember', { space: 'facts', key: 'shared', content }, 'c1'),
            call('remember', { space: 'facts', key: who, content }, 'c2'),
            call('remember', { space: 'scratch', key: 'mine', content }, 'c3'),
            call('remember', { space: 'people', key: 'about', content }, 'c4'),
            call('remember', { space: 'talk', key: 'about', content }, 'c5'),
            call('remember', { space: 'news', key: who, content }, 'c6'),
          ],
          [
            call(
              'revise',
              {
                ...{ space: 'facts', key: 'shared' },
                changes: [
                  { op: 'append', path: '/list', value: `${who}-three` },
                  { op: 'add', path: '/n', value: '10' },
                ],
              },
              'c7',
            ),
          ],
          [say('done')],
        ];
        return outputAfter(script, input);
      }),
    }),
    ...{ grants: ['memory:read:*', 'memory:write:*'], memory: spaces },
  }),
];

describeEachDatabaseSlowly('memory that is taken away', (kind) => {
  const test = engineFor(kind, { agents });

  const write = async (input: string, subject: string, sessionId: string) => {
    const { id } = await test.engine.startRun({ agent: 'writer', input, subjects: [subject], sessionId }, ADMIN);
    expect(await restOf(test.engine, id)).toMatchObject({ status: 'completed' });
    return id;
  };

  const documents = () =>
    test.between(async (knex) => {
      const rows: { space: string; owner: string; key: string; value: string; version: number }[] = await knex(
        'holdfast.memory_documents',
      ).orderBy(['space', 'owner', 'key']);
      return rows.map(({ space, owner, key, value, version }) => ({
        at: [space, owner, key].join(' '),
        value,
        version,
      }));
    });

  /** Rows of memory, with what the bytes of a document say. */
  const texts = () =>
    test.between(async (knex) => {
      const found: string[] = [];
      for (const table of ['memory_documents', 'memory_changes', 'memory_writes']) {
        const { rows } = await knex.raw(`select row_to_json(x)::text as row from holdfast.${table} x`);
        found.push(...rows.map(({ row }: { row: string }) => row));
      }
      const { rows: bytes } = await knex.raw('select document from holdfast.memory_documents');
      return [
        ...found,
        ...bytes.map(({ document }: { document: Uint8Array }) => Buffer.from(document).toString('latin1')),
      ];
    });

  it('is erased with the run that wrote it, and what others wrote into the same document stays', async () => {
    const first = await write('kept', 'other', 'their-talk');
    const erased = await write(`about ${SECRET}`, `subject-${SECRET}`, 'its-talk');
    const second = await write('kept', 'other', 'second-talk');
    const before = await texts();
    expect(before.filter((text) => text.includes(`${SECRET}-one`)).length).toBeGreaterThan(10);
    const shared = (await documents()).find(({ at }) => at === 'facts  shared');
    expect(JSON.parse(shared?.value ?? '')).toMatchObject({
      n: 21,
      by: { other: 'kept', [`${SECRET}-name`]: `${SECRET}-one` },
    });

    await test.engine.eraseRun(erased, { reason: 'asked for' }, ADMIN);
    const left = await documents();
    expect(left.map(({ at }) => at)).toEqual([
      ...['facts  other', 'facts  shared', 'news  other', 'people other about'],
      ...[first, second].toSorted().map((id) => `scratch ${id} mine`),
      ...['talk second-talk about', 'talk their-talk about'],
    ]);
    const after = left.find(({ at }) => at === 'facts  shared');
    expect(JSON.parse(after?.value ?? '')).toEqual({ by: { other: 'kept' }, list: ['kept', 'other-three'], n: 20 });
    expect(after?.version).toBe(shared?.version);
    expect((await texts()).filter((text) => text.includes(SECRET))).toEqual([]);
    expect(await test.engine.verifyRun(erased, ADMIN)).toMatchObject({ ok: true });
    // It goes on from there.
    await write('kept', 'other', 'third-talk');
    const later = (await documents()).find(({ at }) => at === 'facts  shared');
    expect(JSON.parse(later?.value ?? '')).toMatchObject({ n: 30 });
  });

  it('is erased with its subject, also what no run is left of', async () => {
    const subject = `subject-${SECRET}`;
    const id = await write(`about ${SECRET}`, subject, 'its-talk');
    await test.between(async (knex) => {
      await knex('holdfast.memory_changes').where({ run_id: id, space: 'people' }).update({ run_id: 'run_gone' });
    });
    const asked = await test.engine.eraseSubject({ subject, reason: 'asked for' }, ADMIN);
    await expect
      .poll(async () => (await test.engine.getSubjectErasure(asked.id ?? '', ADMIN)).status, { timeout: 20_000 })
      .toBe('done');
    expect((await texts()).filter((text) => text.includes(SECRET))).toEqual([]);
  });

  it('goes with its session, and when its time is over', async () => {
    await test.engine.deleteSession('their-talk', ADMIN);
    expect((await documents()).filter(({ at }) => at.startsWith('talk their'))).toEqual([]);
    await test.between((knex) =>
      knex('holdfast.memory_documents')
        .where({ space: 'news' })
        .update({ expires_at: knex.raw('now()') }),
    );
    // Looking stops the engine, and with it a sweep that has begun.
    const left = async () => {
      await test.engine.askForRetention(ADMIN);
      await new Promise((resolve) => setTimeout(resolve, 8000));
      return (await documents()).filter(({ at }) => at.startsWith('news ')).length;
    };
    await expect.poll(left, { timeout: 80_000, interval: 100 }).toBe(0);
    expect((await documents()).length).toBeGreaterThan(2);
  });
});
