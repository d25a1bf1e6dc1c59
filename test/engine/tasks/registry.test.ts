import { Agent } from '@openai/agents';
import { expect, it } from 'vitest';
import { MIGRATIONS } from '../../../migrations/index.js';
import { canonical, toJson } from '../../../src/core/json.js';
import { parseTask, type TaskInput, taskHashOf } from '../../../src/core/tasks/task-definition.js';
import { defineAgent, functionModel } from '../../../src/index.js';
import { migrate } from '../../../src/storage/database/migrate.js';
import { openDatabase } from '../../../src/storage/database/open-database.js';
import { createTestDatabase, describeEachDatabase } from '../../harness/database.js';
import { ADMIN, engineFor } from '../../harness/engine.js';

/** The registry: definitions that never change, what becomes of deprecated ones, and datasets. */

const mute = functionModel('mute', () => {
  throw new Error('no words');
});
const AGENTS = [defineAgent({ agent: new Agent({ name: 'mute', model: mute }) })];
const OTHER = { ...ADMIN, tenant: 'elsewhere' };

const definition = (name: string, changes: Partial<TaskInput> = {}): TaskInput => ({
  ...{ name, version: '1.0.0', category: 'math', difficulty: 'easy', instruction: 'Add 1 and 2.' },
  environment: { image: 'holdfast-test/busybox:1' },
  verification: { tests: [{ name: 'adds', command: 'true' }] },
  ...changes,
});
const digest = (of: TaskInput) => taskHashOf(parseTask(of));

describeEachDatabase('the registry of tasks', (kind) => {
  const t = engineFor(kind, { agents: AGENTS, retries: { most: 0 } });
  const register = (of: TaskInput) => t.engine.registerTask({ task: of }, ADMIN);
  const at = (name: string, version = '1.0.0') => ({ name, version });

  it('keeps a definition once, and refuses another one of its version with both digests', async () => {
    const first = definition('sum');
    const kept = await register(first);
    expect(kept).toMatchObject({
      ...{ name: 'sum', version: '1.0.0', digest: digest(first), category: 'math', difficulty: 'easy' },
      ...{ registeredBy: ADMIN.actor, deprecated: null },
    });
    expect(await register({ ...first, createdAt: '2026-01-01T00:00:00Z' })).toEqual(kept);
    const changed = { ...first, instruction: 'Add 1 and 3.' };
    await expect(register(changed)).rejects.toMatchObject({
      code: 'task_definition_taken',
      message: expect.stringContaining(`it is ${digest(first)}, and the given one ${digest(changed)}`),
      fields: [{ pointer: '/instruction', detail: 'is "Add 1 and 3.", and was "Add 1 and 2."' }],
    });
    expect((await t.engine.registerTask({ task: changed }, OTHER)).digest).toBe(digest(changed));
    const read = await t.engine.getTaskDefinition(at('sum'), ADMIN);
    expect(read).toEqual({ ...kept, definition: toJson(parseTask(first)) });
    expect(read.bytes).toBe(canonical(read.definition).length);
    await expect(t.engine.getTaskDefinition(at('sum', '2.0.0'), ADMIN)).rejects.toThrow('There is no definition sum');
  });

  it('lists definitions by pages, and compares versions', async () => {
    for (const version of ['1.0.0', '1.1.0', '2.0.0'])
      await register(definition('many', { version, difficulty: version === '2.0.0' ? 'hard' : 'easy' }));
    const seen: string[] = [];
    let cursor: string | null = null;
    do {
      const page = await t.engine.listTaskDefinitions({ limit: 2, name: 'many', ...(cursor && { cursor }) }, ADMIN);
      seen.push(...page.items.map(({ version }) => version));
      cursor = page.nextCursor;
    } while (cursor !== null);
    expect(seen).toEqual(['2.0.0', '1.1.0', '1.0.0']);
    const hard = await t.engine.listTaskDefinitions({ limit: 5, difficulty: 'hard' }, ADMIN);
    expect(hard.items.map(({ version }) => version)).toEqual(['2.0.0']);
    const diff = (other: string) => t.engine.diffTaskDefinitions(at('many'), at('many', other), ADMIN);
    expect(await diff('1.1.0')).toMatchObject({ same: true, differences: [], more: 0 });
    expect(await diff('2.0.0')).toMatchObject({
      ...{ from: { version: '1.0.0' }, to: { version: '2.0.0' }, same: false },
      differences: [{ pointer: '/difficulty', detail: 'is "hard", and was "easy"' }],
    });
  });

  it('submits no deprecated definition, but gives the task of a key that was used before', async () => {
    const old = definition('old');
    const before = await t.engine.submitTask({ task: old, agent: 'mute' }, ADMIN, 'before');
    const deprecate = (reason: string | null, actor = ADMIN.actor) =>
      t.engine.deprecateTaskDefinition(at('old'), { reason }, { ...ADMIN, actor });
    expect((await deprecate('Its tests pass always.')).deprecated).toMatchObject({ by: ADMIN.actor });
    // The same again is the first one's.
    expect((await deprecate('Its tests pass always.', 'someone')).deprecated).toMatchObject({
      ...{ by: ADMIN.actor, reason: 'Its tests pass always.' },
    });
    for (const task of [old, at('old')])
      await expect(t.engine.submitTask({ task, agent: 'mute' }, ADMIN)).rejects.toMatchObject({
        ...{ code: 'task_definition_deprecated', status: 409 },
        message: 'old of version 1.0.0 is deprecated: Its tests pass always.',
      });
    expect((await t.engine.submitTask({ task: old, agent: 'mute' }, ADMIN, 'before')).id).toBe(before.id);
    const batch = async () => {
      const values = [
        { task: at('old'), agent: 'mute' },
        { task: definition('young'), agent: 'mute' },
      ];
      const lines = (async function* () {
        for (const [index, value] of values.entries()) yield { line: index + 1, value };
      })();
      const answers: unknown[] = [];
      for await (const answer of t.engine.submitTasks(lines, ADMIN, 'round')) answers.push(answer);
      return answers;
    };
    expect(await batch()).toMatchObject([
      { line: 1, error: { code: 'task_definition_deprecated' } },
      { line: 2, status: 'submitted' },
      { end: true, submitted: 1, failed: 1 },
    ]);
    await expect(t.engine.createDataset({ ...at('none'), tasks: [at('old')] }, ADMIN)).rejects.toMatchObject({
      ...{ code: 'task_definition_deprecated', fields: [{ pointer: '/tasks/0' }] },
    });
    const listed = await t.engine.listTaskDefinitions({ limit: 5, deprecated: 'true' }, ADMIN);
    expect(listed.items.map(({ name }) => name)).toEqual(['old']);
    expect((await deprecate(null)).deprecated).toBeNull();
    expect(await batch()).toMatchObject([{ status: 'submitted' }, { status: 'known' }, { submitted: 1, known: 1 }]);
    await expect(t.engine.deprecateTaskDefinition(at('absent'), { reason: 'why' }, ADMIN)).rejects.toMatchObject({
      code: 'task_definition_unknown',
    });
  });

  it('keeps datasets, which never change either', async () => {
    for (const name of ['b', 'a', 'c']) await register(definition(name));
    const make = (tasks: readonly string[], version = '1.0.0') =>
      t.engine.createDataset(
        { ...at('set', version), tasks: tasks.map((name) => at(name)), description: 'Sums.' },
        ADMIN,
      );
    const kept = await make(['b', 'a']);
    expect(kept).toMatchObject({
      name: 'set',
      version: '1.0.0',
      tasks: 2,
      createdBy: ADMIN.actor,
      description: 'Sums.',
    });
    expect(await make(['a', 'b'])).toEqual(kept);
    await expect(make(['a', 'c'])).rejects.toMatchObject({
      ...{ code: 'dataset_taken', message: expect.stringContaining(`it is ${kept.digest} with 2 tasks`) },
    });
    await expect(make(['a', 'none'])).rejects.toMatchObject({
      ...{ code: 'task_definition_unknown', fields: [{ pointer: '/tasks/1', detail: 'is not in the registry' }] },
    });
    await expect(make(['a', 'a'], '2.0.0')).rejects.toMatchObject({
      ...{ code: 'invalid_request', fields: [{ pointer: '/tasks/1', detail: 'a is in the dataset already' }] },
    });
    expect((await make(['a', 'b', 'c'], '2.0.0')).digest).not.toBe(kept.digest);
    const page = (more: object) => t.engine.listDatasetTasks(at('set', '2.0.0'), { limit: 2, ...more }, ADMIN);
    const first = await page({});
    expect([first.items.map(({ name }) => name), first.nextCursor]).toEqual([['a', 'b'], '2']);
    expect(await page({ cursor: '2' })).toMatchObject({
      items: [{ name: 'c', digest: digest(definition('c')) }],
      nextCursor: null,
    });
    await expect(page({ cursor: 'x' })).rejects.toMatchObject({ code: 'invalid_request' });
    const listed = await t.engine.listDatasets({ limit: 5 }, ADMIN);
    expect(listed.items.map(({ version }) => version)).toEqual(['2.0.0', '1.0.0']);
    expect((await t.engine.listDatasets({ limit: 5 }, OTHER)).items).toEqual([]);
    await expect(t.engine.getDataset(at('set', '3.0.0'), ADMIN)).rejects.toMatchObject({ code: 'dataset_unknown' });
  });

  it('reads category and difficulty of definitions that were kept before it was there', async () => {
    const place = await createTestDatabase(kind);
    const db = await openDatabase(place.options);
    const from = MIGRATIONS.findIndex(({ name }) => name === '0007-tasks');
    await migrate(db.knex, MIGRATIONS.slice(0, from));
    const kept = parseTask({
      ...definition('kept', { category: 'words', difficulty: 'hard', instruction: 'Say "category":"none" {{pick}}' }),
      antiHardcoding: { randomizedInputs: { pick: { type: 'choice', values: ['"category":"wrong"'] } } },
    });
    await db.knex('holdfast.task_definitions').insert({
      ...{ tenant: 'default', hash: taskHashOf(kept), name: kept.name, version: kept.version },
      definition: canonical(toJson(kept)),
    });
    await migrate(db.knex);
    expect(await db.knex('holdfast.task_definitions').first('category', 'difficulty', 'deprecated_at')).toEqual({
      ...{ category: 'words', difficulty: 'hard', deprecated_at: null },
    });
    await db.close();
    await place.drop();
  });
});
