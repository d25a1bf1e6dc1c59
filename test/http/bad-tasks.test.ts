import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { aTask } from '../core/tasks/a-task.js';
import { SLOW } from '../harness/slow.js';
import { type Answer, type Door, expectProblem, MAX_BODY_BYTES, openDoor } from './door.js';

/** Tasks with bad fields over HTTP: each is named, and nothing of the task is there. */

const PATH = '/api/v1/tasks';

describe('a bad task', () => {
  let door: Door;
  beforeAll(async () => {
    door = await openDoor('pglite');
  });
  afterAll(async () => {
    const { json } = await door.ask('vera', 'GET', PATH);
    await door.close();
    expect(json).toEqual({ items: [], nextCursor: null });
    expect(door.logged.filter(({ level }) => level === 'error')).toEqual([]);
  });
  const post = (body: unknown): Promise<Answer> => door.ask('otto', 'POST', PATH, body);
  const good = { task: aTask(), agent: 'echo' };
  const inEnvironment = (more: object) => ({ environment: { image: 'any', ...more } });
  const test1 = { name: 'one', command: 'true' };

  test.each<[string, object]>([
    ['/task/instruction', { instruction: 5 }],
    ['/task/maxTurns', { maxTurns: 'ten' }],
    ['/task/environment', { environment: 7 }],
    ['/task/colour', { colour: 'red' }],
    ['/task/name', { name: 'a/b' }],
    ['/task/name', { name: '../a' }],
    ['/task/category', { category: 'a/b' }],
    ['/task/verification/tests', { verification: { tests: Array.from({ length: 201 }, () => test1) } }],
    ['/task/verification/files/..~1x', { verification: { files: { '../x': '' }, tests: [test1] } }],
    ['/task/initialFiles/~1etc~1passwd', { initialFiles: { '/etc/passwd': '' } }],
    ['/task/initialFiles/a~1..~1..~1x', { initialFiles: { 'a/../../x': '' } }],
    ['/task/environment/limits/cpuCores', inEnvironment({ limits: { cpuCores: -1 } })],
    ['/task/environment/limits/memoryMb', inEnvironment({ limits: { memoryMb: '2G' } })],
    ['/task/environment/limits/memoryMb', inEnvironment({ limits: { memoryMb: 1 } })],
    ['/task/environment/limits/maxProcesses', inEnvironment({ limits: { maxProcesses: 1e99 } })],
    ['/task/environment/limits/diskGb', inEnvironment({ limits: { diskGb: 0.5 } })],
    ['/task/environment/workdir', inEnvironment({ workdir: '/work/../etc' })],
    [
      '/task/environment/mounts/0/source',
      inEnvironment({ mounts: [{ source: '/var/run/docker.sock', target: '/s' }] }),
    ],
    ['/task/environment/security/privileged', inEnvironment({ security: { privileged: true } })],
  ])('%s', async (pointer, more) => {
    const { errors } = expectProblem(await post({ ...good, task: { ...aTask(), ...more } }), 'invalid_request');
    expect(errors.map((error) => error.pointer)).toEqual([pointer]);
  });

  test('that is too large, deep or cut off is none', async () => {
    expectProblem(
      await post({ ...good, task: { ...aTask(), instruction: 'x'.repeat(2 * MAX_BODY_BYTES) } }),
      'body_too_large',
    );
    const deep = `${'['.repeat(MAX_BODY_BYTES / 4)}${']'.repeat(MAX_BODY_BYTES / 4)}`;
    expectProblem(await post(`{"agent": "echo", "task": ${deep}}`), 'invalid_request');
    expectProblem(await post(`{"agent": "echo", "task": ${deep.slice(1)}}`), 'malformed_json');
  });

  test.each<[string, object]>([
    ['task_definition_unknown', { task: { name: 'add', version: '9.0.0' } }],
    ['agent_unknown', { agent: 'nobody' }],
    ['reward_unknown', { reward: 'none' }],
  ])('%s', async (code, more) => void expectProblem(await post({ ...good, ...more }), code));
});

test.runIf(SLOW)('the files of a task may be larger than other bodies', async () => {
  const door = await openDoor('pglite', undefined, {}, { maxTaskBytes: 2_000_000 });
  const text = 'x'.repeat(1_200_000);
  const task = { ...aTask(), initialFiles: { 'in.txt': { text } } };
  const answer = await door.ask('otto', 'POST', PATH, { task, agent: 'echo' });
  expect(answer.status, answer.text.slice(0, 500)).toBe(202);
  expectProblem(await door.ask('otto', 'POST', '/api/v1/runs', { agent: 'echo', input: text }), 'body_too_large');
  await door.close();
});
