import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { readFolder } from '../../src/cli/commands/tasks/read-folder.js';
import { readTask } from '../../src/cli/commands/tasks/read-task.js';
import { Allowance } from '../../src/core/limits/allowance.js';
import { resolveTask } from '../../src/core/tasks/resolve-task.js';
import { endedOf, never, newIdentity, openedFor, shell } from '../containers/environments.js';
import { describeDocker, TOOLS } from '../harness/docker.js';
import { SHIPPED } from '../tasks/attempt.js';
import { runHere } from './in-process.js';

/** Directories of Harbor on disk: there and back by the command line, and what is wrong with them. */

let dir = '';
const before = process.cwd();
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'holdfast-harbor-'));
  process.chdir(dir);
});
afterAll(() => {
  process.chdir(before);
  rmSync(dir, { recursive: true });
});
const task = (...args: string[]) => runHere(['task', ...args], {});

it('each task that ships goes there and comes back, with what is random fixed', async () => {
  const nowhere = await task('export', 'calculator', '--harbor', 'out/calculator');
  const missing = await runHere(['task', 'import', join(dir, 'none')], {});
  expect(missing).toMatchObject({ code: 1, stderr: expect.stringContaining('none cannot be read: it is not there') });
  expect(nowhere).toMatchObject({ code: 2, stderr: expect.stringContaining('cannot be made: ENOENT') });
  mkdirSync('out');
  for (const definition of SHIPPED) {
    const { name } = definition;
    const exported = await task('export', name, '--harbor', `out/${name}`, '--seed', '5');
    expect(exported, name).toMatchObject({ code: 0, stdout: `written to ${join(process.cwd(), 'out', name)}\n` });
    if (Object.keys(definition.antiHardcoding.randomizedInputs).length > 0)
      expect(exported.stderr, name).toContain('fixed, by the seed 5; Harbor has no templates');
    expect(await task('import', `out/${name}`, '--out', `out/${name}.yaml`), name).toMatchObject({ code: 0 });
    const { definitionHash: _hash, ...right } = resolveTask(definition, { parameters: {}, seed: 5 }, new Allowance());
    const { definitionHash: _other, ...back } = resolveTask(
      readTask(`out/${name}.yaml`),
      { parameters: {}, seed: 5 },
      new Allowance(),
    );
    const fixed = {
      canaries: {},
      parameters: {},
      antiHardcoding: { ...right.antiHardcoding, canaries: [], randomizedInputs: {} },
    };
    expect(back, name).toEqual({ ...right, ...fixed });
    expect(readTask(`out/${name}`), name).toEqual(readTask(`out/${name}.yaml`));
  }
  const again = await task('import', 'out/calculator', '--out', 'out/calculator.yaml');
  expect(again).toMatchObject({ code: 2, stderr: expect.stringContaining('EEXIST') });
});

it('names what is wrong with a directory', async () => {
  const broken = (name: string, change: (path: string) => void): string => {
    cpSync('out/count-words', `bad/${name}`, { recursive: true });
    change(`bad/${name}`);
    return `bad/${name}`;
  };
  const refused = async (path: string, why: string) =>
    expect(await task('import', path)).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining(why) });
  await refused(
    broken('toml', (path) => writeFileSync(`${path}/task.toml`, '[task\nname = 1')),
    'it is no TOML: line 1',
  );
  await refused(
    broken('none', (path) => rmSync(`${path}/task.toml`)),
    'it holds no task.toml',
  );
  await refused(
    broken('link', (path) => symlinkSync('/etc/passwd', `${path}/tests/files/x`)),
    'it is a symbolic link',
  );
  await refused(
    broken('tests', (path) => rmSync(`${path}/tests/test.sh`)),
    'There is no tests/test.sh',
  );
  await refused(
    broken('big', (path) => writeFileSync(`${path}/tests/big`, Buffer.alloc(1_600_000))),
    'it is larger than',
  );
  await refused(
    broken('compose', (path) => writeFileSync(`${path}/environment/docker-compose.yaml`, 'services: [')),
    'docker-compose.yaml',
  );
  await refused('bad/link/task.toml', 'a file is in the place of a directory');
});

it('says of a task whose image is not built how it gets one', async () => {
  mkdirSync('unbuilt/environment', { recursive: true });
  mkdirSync('unbuilt/tests');
  writeFileSync('unbuilt/task.toml', 'version = "1.0"\n');
  writeFileSync('unbuilt/instruction.md', 'Work.');
  writeFileSync('unbuilt/environment/Dockerfile', 'FROM a\nRUN x\n');
  writeFileSync('unbuilt/tests/test.sh', '#!/bin/sh\nexit 0\n');
  expect(await task('check', 'unbuilt')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('has to be built first'),
  });
  const away = await runHere(['task', 'import', 'unbuilt'], { DOCKER_HOST: 'unix:///no/engine' });
  expect(away).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining('(engine_unreachable)') });
  const later = await task('import', 'unbuilt', '--no-build');
  expect(later).toMatchObject({ code: 0, stderr: expect.stringContaining('is not built') });
  expect(later.stdout).toMatch(/image: holdfast\/harbor:[0-9a-f]{32}/);
  const based = await task('import', 'unbuilt', '--image', 'mine:1');
  expect(based).toMatchObject({ code: 0, stderr: expect.stringContaining('RUN x: not done') });
});

describeDocker('an exported task', () => {
  const { open } = openedFor();

  it('rewards what its tests reward', async () => {
    await task('export', 'sql-injection', '--harbor', 'there');
    // Its places, in a container that writes to none of them.
    const moved = (path: string): string =>
      readFileSync(path, 'utf8')
        .replaceAll('/tests/files', '/tmp/in/files')
        .replaceAll('/solution/', '/tmp/in/')
        .replaceAll(' /logs', ' /tmp/logs')
        .replaceAll('>/logs', '>/tmp/logs');
    const environment = await open(newIdentity({ image: TOOLS, limits: { memoryMb: 256 } }));
    await environment.run(shell('mkdir -p /tmp/in/files solution'), never);
    for (const [path, { content }] of readFolder('there')) {
      const [top = '', ...rest] = path.split('/');
      if (rest[0] !== 'files') continue;
      const place = { environment: '/work', tests: '/tmp/in/files', solution: '/work/solution' }[top];
      await environment.write(`${place}/${rest.slice(1).join('/')}`, content, never);
    }
    await environment.write('/work/test.sh', Buffer.from(moved('there/tests/test.sh')), never);
    const rewarded = async (before_: string) =>
      endedOf(await environment.run(shell(`${before_}; sh test.sh >&2; cat /tmp/logs/verifier/reward.txt`), never))
        .stdout.text;
    expect(await rewarded('true')).toBe('0.000000\n');
    expect(await rewarded('sed s/ValueError/KeyError/ solution/users.py >users.py')).toBe('0.833333\n');
    expect(await rewarded('cp solution/users.py .')).toBe('1.000000\n');
  });
});
