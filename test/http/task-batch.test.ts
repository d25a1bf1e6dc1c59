import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { LOCAL_CALLER } from '../../src/core/caller.js';
import type { Page } from '../../src/core/page.js';
import { type BatchAnswer, batchAnswer } from '../../src/core/tasks/batch.js';
import type { TaskView } from '../../src/core/tasks/task.js';
import { runHere } from '../cli/in-process.js';
import { describeBothDatabasesSlowly } from '../harness/database.js';
import { bearer, type Door, expectProblem, MAX_BODY_BYTES, openDoor, TOKENS } from './door.js';

const PATH = '/api/v1/tasks/batch';
const TYPE = 'application/x-ndjson';

const definition = {
  ...{ name: 'add-up', version: '1.0.0', category: 'math', difficulty: 'easy' },
  instruction: 'Add {{a}} and 2.',
  environment: { image: 'none' },
  verification: { tests: [{ name: 'adds', command: 'true' }] },
  parameters: { a: { type: 'integer', default: 1 } },
};
/** Runs of it wait for their rate: nothing of them begins. */
const agent = 'rare';
const named = { task: { name: 'add-up', version: '1.0.0' }, agent };
const linesOf = (...values: unknown[]): string =>
  values.map((value) => (typeof value === 'string' ? value : JSON.stringify(value))).join('\n');
const many = (count: number) =>
  linesOf(
    { task: definition, agent },
    ...Array.from({ length: count - 1 }, (_, a) => ({ ...named, parameters: { a } })),
  );

describeBothDatabasesSlowly('batches of tasks over HTTP', (kind) => {
  let door: Door;
  beforeAll(async () => {
    door = await openDoor(kind);
  });
  afterAll(() => door.close());

  const send = async (body: string, key: string): Promise<BatchAnswer[]> => {
    const headers = { ...bearer('otto'), 'Content-Type': TYPE, 'Idempotency-Key': key };
    const response = await fetch(`${door.http.url}${PATH}`, { method: 'POST', headers, body });
    const text = await response.text();
    expect([response.status, response.headers.get('content-type')], text).toEqual([200, TYPE]);
    return text
      .trimEnd()
      .split('\n')
      .map((line) => batchAnswer.parse(JSON.parse(line)));
  };
  const idsIn = (answers: readonly BatchAnswer[]) => answers.flatMap((one) => ('id' in one ? [one.id] : []));
  const counted = async (): Promise<number> => {
    const { text } = await door.engine.metrics(LOCAL_CALLER);
    return Number(/^holdfast_tasks_submitted_total\{category="math"\} (\d+)$/m.exec(text)?.[1] ?? 0);
  };
  const tasksNow = async () => {
    const ids: string[] = [];
    let cursor: string | null = null;
    do {
      const page: Page<TaskView> = await door.engine.listTasks(
        { limit: 200, ...(cursor === null ? {} : { cursor }) },
        { actor: 'otto', role: 'operator', tenant: 'default' },
      );
      ids.push(...page.items.map(({ id }) => id));
      cursor = page.nextCursor;
    } while (cursor !== null);
    return ids;
  };

  test('each line is a task, or named with what is wrong; a definition holds for the lines after it', async () => {
    const lines = linesOf(
      ...[
        { task: definition, agent },
        { ...named, parameters: { a: 2 } },
        '',
        '{"task":',
        { ...named, agent: 'nobody' },
      ],
      ...[{ ...named, colour: 'red' }, [1], `{"task":"${'x'.repeat(MAX_BODY_BYTES)}"}`, named],
    );
    const answers = await send(lines, 'mixed');
    expect(answers).toMatchObject([
      ...[
        { line: 1, status: 'submitted' },
        { line: 2, status: 'submitted' },
        { line: 4, error: { code: 'malformed_json' } },
      ],
      { line: 5, error: { code: 'agent_unknown', fields: [{ pointer: '/agent' }] } },
      { line: 6, error: { code: 'invalid_request', fields: [{ pointer: '/colour' }] } },
      ...[
        { line: 7, error: { code: 'invalid_request' } },
        { line: 8, error: { code: 'body_too_large' } },
      ],
      ...[
        { line: 9, status: 'submitted' },
        { end: true, submitted: 3, known: 0, failed: 5 },
      ],
    ]);
    const [first = '', second = ''] = idsIn(answers);
    const task = await door.engine.getTask(second, { actor: 'v', role: 'viewer', tenant: 'default' });
    expect(task).toMatchObject({ name: 'add-up', parameters: { a: 2 }, agent });
    // A worker may have it by now.
    expect(['queued', 'running']).toContain(task.status);
    expect(await tasksNow()).toContain(first);
  });

  test('another definition of the same name and version is refused, and the lines beside it are not', async () => {
    const mine = { ...definition, name: 'add-once' };
    const other = { ...mine, instruction: 'Add {{a}} and 3.' };
    const byName = { task: { name: 'add-once', version: '1.0.0' }, agent };
    const lines = linesOf({ task: mine, agent }, { task: other, agent }, byName, { task: mine, agent });
    const answers = await send(lines, 'taken');
    const error = { code: 'task_definition_taken', fields: [{ pointer: '/instruction' }] };
    expect(answers).toMatchObject([
      ...[
        { line: 1, status: 'submitted' },
        { line: 2, error },
        { line: 3, status: 'submitted' },
      ],
      ...[
        { line: 4, status: 'submitted' },
        { end: true, submitted: 3, known: 0, failed: 1 },
      ],
    ]);
    expect((await send(linesOf({ task: other, agent }, byName), 'taken-later')).slice(0, 1)).toMatchObject([{ error }]);
    expectProblem(await door.ask('otto', 'POST', '/api/v1/tasks', { task: other, agent }), 'task_definition_taken');
  });

  test('the same batch again is the same tasks, a changed line is refused, and keys outlive their place', async () => {
    const lines = many(120);
    const earlier = await counted();
    const before = await send(lines, 'again');
    expect(before.at(-1)).toEqual({ end: true, submitted: 120, known: 0, failed: 0 });
    const count = (await tasksNow()).length;
    const after = await send(lines, 'again');
    expect(after.at(-1)).toEqual({ end: true, submitted: 0, known: 120, failed: 0 });
    expect(idsIn(after)).toEqual(idsIn(before));
    expect(await counted()).toBe(earlier + 120);
    const changed = await send(linesOf({ task: definition, agent, seed: 5 }), 'again');
    expect(changed[0]).toMatchObject({ line: 1, error: { code: 'idempotency_key_reused' } });
    expect((await tasksNow()).length).toBe(count);
    const one = (await send(linesOf({ ...named, key: 'mine' }), 'keys'))[0];
    const moved = await send(linesOf({ ...named, parameters: { a: 3 } }, { ...named, key: 'mine' }), 'keys');
    expect(moved[1]).toMatchObject({ line: 2, status: 'known', id: one && 'id' in one ? one.id : '' });
    expect(await send(linesOf({ ...named, key: 'k' }, { ...named, key: 'k' }), 'twice')).toMatchObject([
      ...[{ status: 'submitted' }, { line: 2, status: 'known' }, { submitted: 1, known: 1 }],
    ]);
  });

  test('a batch that was broken off goes on where it stopped', async () => {
    // The embedded database takes its time.
    const size = kind === 'postgres' ? 1000 : 130;
    const lines = many(size);
    const count = (await tasksNow()).length;
    const headers = { ...bearer('otto'), 'Content-Type': TYPE, 'Idempotency-Key': 'cut' };
    await new Promise<void>((resolve) => {
      const cut = request(`${door.http.url}${PATH}`, { method: 'POST', headers });
      cut.once('response', (response) => response.once('data', () => cut.destroy()));
      cut.once('close', () => resolve());
      cut.once('error', () => resolve());
      cut.write(
        `${lines
          .split('\n')
          .slice(0, size / 2)
          .join('\n')}\n`,
      );
    });
    const answers = await send(lines, 'cut');
    expect(answers.at(-1)).toMatchObject({ failed: 0 });
    expect(answers.filter((one) => 'status' in one && one.status === 'known').length).toBeGreaterThanOrEqual(50);
    expect(new Set(idsIn(answers)).size).toBe(size);
    expect((await tasksNow()).length).toBe(count + size);
  });

  test('the same batch twice at once is each task once', async () => {
    const lines = many(110);
    const count = (await tasksNow()).length;
    const both = await Promise.all([send(lines, 'both'), send(lines, 'both')]);
    expect(idsIn(both[0] ?? [])).toEqual(idsIn(both[1] ?? []));
    expect(new Set(both.flatMap(idsIn)).size).toBe(110);
    expect((await tasksNow()).length).toBe(count + 110);
  });

  test('the same tasks twice at once in two orders are each task once: who is in the way goes on after', async () => {
    const count = (await tasksNow()).length;
    const keyed = Array.from({ length: 100 }, (_, a) => ({ ...named, parameters: { a }, key: `k${a}` }));
    const both = await Promise.all([send(linesOf(...keyed), 'orders'), send(linesOf(...keyed.toReversed()), 'orders')]);
    expect(idsIn(both[0] ?? []).toSorted()).toEqual(idsIn(both[1] ?? []).toSorted());
    expect(both.map((answers) => answers.at(-1))).toMatchObject([{ failed: 0 }, { failed: 0 }]);
    expect((await tasksNow()).length).toBe(count + 100);
  });

  test('a definition that a batch brings counts from its line on, and one of a line that is not right does not', async () => {
    const other = { ...definition, version: '7.0.0' };
    const seven = { task: { name: 'add-up', version: '7.0.0' }, agent };
    const changed = { ...other, instruction: 'Add {{a}} and 3.' };
    const lines = [seven, { task: other, agent: 'nobody' }, seven, { task: other, agent }, seven];
    const answers = await send(linesOf(...lines, { task: changed, agent }, seven), 'brought');
    expect(answers).toMatchObject([
      { error: { code: 'task_definition_unknown' } },
      { error: { code: 'agent_unknown' } },
      { error: { code: 'task_definition_unknown' } },
      ...[{ status: 'submitted' }, { status: 'submitted' }],
      ...[{ error: { code: 'task_definition_taken' } }, { status: 'submitted' }],
      { submitted: 3, failed: 4 },
    ]);
    const caller = { actor: 'v', role: 'viewer', tenant: 'default' } as const;
    const hashes = await Promise.all(
      idsIn(answers).map(async (id) => (await door.engine.getTask(id, caller)).definitionHash),
    );
    expect(new Set(hashes).size).toBe(1);
  });

  test('takes no more than ten thousand, and says so', async () => {
    const answers = await send('1\n'.repeat(10_050), 'most');
    expect(answers.at(-2)).toMatchObject({ line: 10_001, error: { code: 'payload_too_large' } });
    expect(answers.at(-1)).toEqual({ end: true, submitted: 0, known: 0, failed: 10_001 });
    expect(answers).toHaveLength(10_002);
  });

  test('is refused as a whole only for what is no fault of a line', async () => {
    const key = { 'Idempotency-Key': 'refused' };
    const ask = (actor: 'otto' | 'vera', headers: Record<string, string>) =>
      door.ask(actor, 'POST', PATH, '1', headers);
    expectProblem(await ask('otto', { 'Content-Type': TYPE }), 'invalid_request');
    expectProblem(await ask('otto', { 'Content-Type': 'application/json', ...key }), 'unsupported_media_type');
    expectProblem(await ask('vera', { 'Content-Type': TYPE, ...key }), 'forbidden');
    expect(await send('', 'empty')).toEqual([{ end: true, submitted: 0, known: 0, failed: 0 }]);
  });

  test('a file is its own key at a terminal', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'batch-'));
    const file = join(folder, 'tasks.ndjson');
    writeFileSync(file, linesOf({ task: definition, agent }, { ...named, agent: 'nobody' }));
    const env = { HOLDFAST_URL: door.http.url, HOLDFAST_TOKEN: TOKENS.otto.token };
    const submit = (...more: string[]) => runHere(['task', 'submit', '--batch', file, ...more], env);
    const first = await submit();
    expect([first.code, first.stdout]).toEqual([
      1,
      expect.stringMatching(/^line 1 task_\w+ submitted\nline 2 agent_unknown: /),
    ]);
    expect(first.stdout).toMatch(/\n1 submitted, 0 known before, 1 not taken\n$/);
    const again = await submit('--json');
    const told = again.stdout
      .trimEnd()
      .split('\n')
      .map((line) => batchAnswer.parse(JSON.parse(line)));
    expect(told).toMatchObject([{ status: 'known' }, { error: {} }, { known: 1 }]);
    const wrong = await submit('--agent', 'rare');
    expect([wrong.code === 0, wrong.stderr]).toEqual([false, expect.stringContaining('--batch takes no --agent')]);
    rmSync(folder, { recursive: true });
  });
});
