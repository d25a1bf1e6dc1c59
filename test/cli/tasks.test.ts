import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Agent } from '@openai/agents';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { askHumanTool, defineAgent, functionModel } from '../../src/index.js';
import { call, scripted } from '../harness/script.js';
import { type Actor, type Door, openDoor, TOKENS } from '../http/door.js';
import { runHere } from './in-process.js';

/** Tasks at a terminal and over HTTP, of agents that need no container. */

const mute = functionModel('mute', () => {
  throw new Error('no words');
});
const AGENTS = [
  defineAgent({ agent: new Agent({ name: 'mute', model: mute }) }),
  defineAgent({ agent: new Agent({ name: 'rare', model: mute }), rate: { runs: 1, perMs: 3_600_000 } }),
  defineAgent({
    agent: new Agent({
      name: 'asker',
      model: scripted([[call('ask_human', { question: 'On?' }, 'ask')]]),
      tools: [askHumanTool()],
    }),
    grants: ['human:ask:question'],
  }),
];
const task = {
  ...{ name: 'say', version: '1.0.0', category: 'words', difficulty: 'easy', instruction: 'Say something.' },
  ...{ environment: { image: 'none:1' }, verification: { tests: [{ name: 'said', command: 'true' }] } },
};

let door: Door;
beforeAll(async () => {
  door = await openDoor('pglite', AGENTS, { retries: { most: 0 }, hostFolders: ['/srv/books'] });
});
afterAll(() => door.close());
const any = (args: readonly string[]) =>
  runHere(args, { HOLDFAST_URL: door.http.url, HOLDFAST_TOKEN: TOKENS.adam.token });
const holdfast = (...args: readonly string[]) => any(['task', ...args]);
const post = (actor: Actor, body: unknown, key?: string) =>
  door.ask(actor, 'POST', '/api/v1/tasks', body, key === undefined ? {} : { 'Idempotency-Key': key });

it('are submitted, read, listed and cancelled over HTTP, by who may', async () => {
  const made = await post('otto', { task, agent: 'asker' }, 'a');
  expect(made.status).toBe(202);
  const { id } = made.json as { id: string };
  expect((await post('otto', { task, agent: 'asker' }, 'a')).json).toMatchObject({ id });
  expect((await post('otto', { task, agent: 'mute' }, 'a')).json).toMatchObject({ code: 'idempotency_key_reused' });
  expect((await post('vera', { task, agent: 'asker' })).json).toMatchObject({ code: 'forbidden' });
  const wrong = { ...task, difficulty: 'none', verification: { tests: [] } };
  expect((await post('otto', { task: wrong, agent: 'asker' })).json).toMatchObject({
    code: 'invalid_request',
    errors: [{ pointer: '/task/difficulty' }, { pointer: '/task/verification/tests' }],
  });
  expect((await door.ask('vera', 'GET', `/api/v1/tasks/${id}`)).json).toMatchObject({ id, name: 'say' });
  expect((await door.ask('zoe', 'GET', `/api/v1/tasks/${id}`)).status).toBe(404);
  expect((await door.ask('vera', 'GET', '/api/v1/tasks?name=say&agent=asker')).json).toMatchObject({ items: [{ id }] });
  expect((await door.ask('vera', 'GET', '/api/v1/tasks?status=none')).json).toMatchObject({ code: 'invalid_request' });
  expect((await door.ask('otto', 'DELETE', `/api/v1/tasks/${id}`)).json).toMatchObject({ id, attempts: 1 });
});

it('that reach beyond their container are submitted by an admin, and named by others', async () => {
  const open = { networkMode: 'open', dropCapabilities: [], noNewPrivileges: false, seccompProfile: '{}' };
  const reaching = { ...task, environment: { ...task.environment, security: open } };
  expect((await post('otto', { task: reaching, agent: 'asker' })).json).toMatchObject({
    code: 'forbidden',
    errors: Object.keys(open).map((field) => ({ pointer: `/task/environment/security/${field}` })),
  });
  const mounts = [{ source: '/srv/books', target: '/books' }];
  const mounting = { ...task, version: '2.0.0', environment: { ...task.environment, mounts } };
  const refused = { code: 'forbidden', errors: [{ pointer: '/task/environment/mounts' }] };
  expect((await post('otto', { task: mounting, agent: 'asker' })).json).toMatchObject(refused);
  const named = { task: { name: 'say', version: '2.0.0' }, agent: 'asker' };
  expect((await post('otto', named)).json).toMatchObject({ code: 'task_definition_unknown' });
  expect((await post('adam', { task: mounting, agent: 'asker' })).status).toBe(202);
  expect((await post('otto', named)).status).toBe(202);
  expect((await post('otto', { task: mounting, agent: 'asker' })).json).toMatchObject(refused);
});

it('are submitted, followed and cancelled at a terminal; the exit code says whether one is a success', async () => {
  const submitted = await holdfast('submit', 'say@1.0.0', '--agent', 'asker', '--seed', '3');
  const [, id = ''] = /^task (task_[0-9a-f]{32}) queued\n$/.exec(submitted.stdout) ?? [];
  expect(id, submitted.stderr).not.toBe('');
  const failed = await holdfast('run', 'count-words', '--agent', 'mute');
  expect([failed.code, failed.stdout], failed.stderr).toEqual([1, expect.stringMatching(/\nresult {3}error: /)]);
  expect(failed.stdout).toContain('\nway out  Set DOCKER_HOST for every worker, ');
  const waiting = await holdfast('run', 'say@1.0.0', '--agent', 'asker');
  expect([waiting.code, waiting.stdout]).toEqual([1, expect.stringContaining('It waits for a person')]);
  const listed = await holdfast('list', '--name', 'count-words', '--result', 'error');
  expect(listed.stdout).toMatch(/^TASK .*\ntask_[0-9a-f]{32} +failed +error /);
  expect((await holdfast('show', id)).stdout).toContain(`task     ${id}\nname     say 1.0.0\n`);
  expect((await holdfast('cancel', id)).stdout).toMatch(
    new RegExp(`^task ${id} (cancelled|running, asked to stop)\n$`),
  );
  const unknown = await holdfast('show', 'task_none');
  expect([unknown.code, unknown.stderr]).toEqual([1, expect.stringContaining('(task_unknown)')]);
});

it('are counted, and what ended lately', async () => {
  const known = (await door.ask('vera', 'GET', '/api/v1/tasks?result=error')).json as { items: readonly unknown[] };
  const asked = await any(['stats', '--json']);
  expect(JSON.parse(asked.stdout), asked.stderr).toMatchObject({
    tasks: { byDifficulty: { expert: 0 }, byResult: { error: known.items.length, success: 0 }, meanReward: 0 },
    throughput: { tasks: { lastDay: expect.any(Number) } },
  });
  const { stdout } = await any(['stats']);
  expect(stdout).toMatch(/^server +(pass|warn|fail)/m);
  expect(stdout).toMatch(new RegExp(`^results .*\\b${known.items.length} error$`, 'm'));
  expect(stdout).toMatch(/^tasks ended +\d+ in the last hour, \d+ in the last day$/m);
});

it('that are dead are listed with their reasons, and put back by an admin', async () => {
  const { stdout } = await holdfast('submit', 'say@1.0.0', '--agent', 'mute');
  const [, id = ''] = /^task (task_[0-9a-f]{32}) /.exec(stdout) ?? [];
  const isDead = async () => ((await door.ask('vera', 'GET', `/api/v1/tasks/${id}`)).json as { dead: boolean }).dead;
  await expect.poll(isDead).toBe(true);
  const listed = await holdfast('list', '--dead', '--name', 'say');
  expect(listed.stdout, listed.stderr).toMatch(
    /^task_[0-9a-f]{32} say 1\.0\.0 mute .*\n {2}run_\S+ model_failed: no words\n/,
  );
  const put = (actor: Actor, body: unknown) => door.ask(actor, 'POST', `/api/v1/tasks/${id}/requeue`, body);
  expect((await put('otto', {})).json).toMatchObject({ code: 'forbidden' });
  expect((await put('adam', { attempts: 0 })).json).toMatchObject({ code: 'invalid_request' });
  expect((await put('adam', { attempts: 7 })).json).toMatchObject({ code: 'task_not_dead' });
  const again = await holdfast('requeue', id);
  expect([again.code, again.stdout], again.stderr).toEqual([0, `task ${id} queued, after 1 attempt\n`]);
  expect((await put('adam', { attempts: 1 })).json).toMatchObject({ id, requeues: 1 });
  const { status, json } = await door.ask('vera', 'GET', '/api/v1/tasks?dead=false');
  expect([status, json]).toEqual([400, expect.objectContaining({ code: 'invalid_request' })]);
});

it('are registered, compared, deprecated and put into datasets, which are submitted as a whole', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'registry-'));
  const file = (name: string, changes: object = {}) => {
    const path = join(folder, `${name}.json`);
    writeFileSync(path, JSON.stringify({ ...task, name, ...changes }));
    return path;
  };
  const out = async (args: readonly string[], expected = 0) => {
    const { stdout, stderr, code } = await any(args);
    expect(code, stderr).toBe(expected);
    return stdout;
  };
  const [one, two] = [file('one'), file('two')];
  expect(await out(['task', 'register', one, two])).toMatch(/^one@1\.0\.0 sha256:\w{64}\ntwo@1\.0\.0 /);
  expect((await any(['task', 'register', file('one', { category: 'else' })])).stderr).toContain(
    'They differ at /category',
  );
  await out(['task', 'register', file('one', { version: '2.0.0', maxTurns: 3 })]);
  expect(await out(['task', 'definitions', '--name', 'one'])).toMatch(/one +2\.0\.0 +words +easy .*\none +1\.0\.0/);
  expect(await out(['task', 'read', 'one@2.0.0'])).toContain('maxTurns: 3');
  expect(await out(['task', 'diff', 'one@1.0.0', '2.0.0'], 1)).toContain('/maxTurns: is 3, and was 50');
  file('one');
  expect(await out(['dataset', 'create', 'both@1.0.0', one, 'two@1.0.0', '--description', 'Both.'])).toContain(
    '2 tasks',
  );
  expect(await out(['dataset', 'list'])).toMatch(/both +1\.0\.0 +2 .* Both\./);
  expect(await out(['dataset', 'show', 'both@1.0.0'])).toMatch(/one +1\.0\.0[^\n]*\ntwo +1\.0\.0/);
  const submit = ['task', 'submit', '--dataset', 'both@1.0.0', '--agent', 'mute'];
  expect(await out(submit)).toContain('2 submitted, 0 known before');
  expect(await out(submit)).toContain('0 submitted, 2 known before');
  expect(await out(['task', 'deprecate', 'two@1.0.0', '--reason', 'Too easy.'])).toBe('two@1.0.0 is deprecated\n');
  expect(await out([...submit, '--key', 'again'], 1)).toContain('task_definition_deprecated');
  expect(await out(['task', 'deprecate', 'two@1.0.0', '--undo'])).toBe('two@1.0.0 is in use\n');
  const runs = (await door.ask('vera', 'GET', '/api/v1/tasks?name=two')).json;
  expect(runs).toMatchObject({ items: [{ metadata: { dataset: 'both@1.0.0' } }] });
  expect((await any(['task', 'read', 'one'])).stderr).toContain('such as count-words@1.0.0');
  const other = file('other', { instruction: 'Sing of a bird that is blue, and of no other bird.' });
  expect(await out(['dataset', 'create', 'songs@1.0.0', other, file('fine')])).toContain('2 tasks');
  expect(await out(['dataset', 'duplicates', 'both@1.0.0'], 1)).toMatch(
    /100 % +0 % +one@1\.0\.0 +two@1\.0\.0\n2 tasks: 1 pair says nearly the same\n/,
  );
  expect(JSON.parse(await out(['dataset', 'duplicates', 'songs@1.0.0', 'both@1.0.0', '--json'], 1))).toMatchObject({
    ...{ tasks: 2, against: 2, least: 0.8, found: 2 },
    pairs: [
      { a: 'fine@1.0.0', b: 'one@1.0.0', instruction: 1, tests: 0 },
      { a: 'fine@1.0.0', b: 'two@1.0.0' },
    ],
  });
  expect(await out(['dataset', 'duplicates', 'songs@1.0.0'])).toBe('2 tasks: 0 pairs say nearly the same\n');
  expect(await out(['task', 'duplicates', one, '--against', other])).toContain('1 tasks and 1 others: 0 pairs');
  expect(await out(['task', 'duplicates', one, '--against', two], 1)).toContain('1 pair says nearly the same');
  expect((await any(['dataset', 'duplicates', 'none@1.0.0'])).stderr).toContain('dataset_unknown');
  rmSync(folder, { recursive: true });
});

it('in a batch are listed, grouped and cancelled by its key', async () => {
  const headers = { 'Content-Type': 'application/x-ndjson', 'Idempotency-Key': 'friday' };
  // Its rate is used up by this one, so that its tasks wait.
  await door.ask('otto', 'POST', '/api/v1/runs', { agent: 'rare', input: 'go' });
  await vi.waitFor(
    async () =>
      expect((await door.ask('vera', 'GET', '/api/v1/runs?agent=rare&status=queued')).json).toMatchObject({
        items: [],
      }),
    { timeout: 20_000, interval: 100 },
  );
  const lines = [1, 2].map((seed) => JSON.stringify({ task, agent: 'rare', seed })).join('\n');
  expect((await door.ask('otto', 'POST', '/api/v1/tasks/batch', lines, headers)).status).toBe(200);
  expect((await any(['batches'])).stdout).toMatch(/friday +2 +2 +0 /);
  expect((await holdfast('list', '--batch', 'friday', '--json')).stdout).toContain('"batch": "friday"');
  expect((await any(['batches', 'friday', '--by', 'name'])).stdout).toMatch(/say@1\.0\.0 +2 +0 /);
  expect((await any(['batches', 'friday', '--cancel', '-m', 'Too late.'])).stdout).toContain(
    'friday: 2 tasks cancelled',
  );
  await vi.waitFor(async () => expect((await any(['batches', 'friday'])).stdout).toContain('tasks    2: 2 cancelled'), {
    timeout: 20_000,
    interval: 200,
  });
  expect((await any(['batches', 'friday'])).stdout).toMatch(/^ +2 {2}failure: /m);
  const unknown = await any(['batches', 'sunday']);
  expect([unknown.code, unknown.stderr]).toEqual([1, expect.stringContaining('batch_unknown')]);
});
