import { spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { TOKENS } from '../http/door.js';
import { openStage, type Stage } from '../http/stage.js';
import { runHere } from './in-process.js';

let stage: Stage;
let dir: string;
beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'holdfast-complete-'));
  stage = await openStage('pglite');
});
afterAll(async () => {
  await stage.door.close();
  rmSync(dir, { recursive: true, force: true });
});

const holdfast = (args: readonly string[], url = stage.door.http.url) =>
  runHere(args, { HOLDFAST_URL: url, HOLDFAST_TOKEN: TOKENS.vera.token, HOLDFAST_DATA_DIR: dir });
/** The values that may come next. */
async function next(...words: string[]): Promise<string[]> {
  const { code, stdout, stderr } = await holdfast(['complete', ...words]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  return stdout
    .split('\n')
    .filter(Boolean)
    .map((line) => line.split('\t')[0] ?? '');
}

it('completes commands, those below one, options and choices', async () => {
  expect(await next('ap')).toEqual(['approve']);
  expect(await next('')).toEqual(expect.arrayContaining(['run', 'inbox', 'task', 'help']));
  expect(await next('task', 'ca')).toEqual(['cancel']);
  expect(await next('help', 'task', 're')).toEqual(['requeue', 'register', 'read']);
  expect(await next('run', '--w')).toEqual(['--wait']);
  expect(await next('run', '--wait', '--')).not.toContain('--wait');
  expect(await next('runs', '--status', 'p')).toEqual(['paused']);
  expect(await next('completion', '')).toEqual(['bash', 'zsh', 'fish']);
  expect(await next('serve', '--port', '')).toEqual([]);
  expect(await next('no', 'such')).toEqual([]);
});

it('leaves names of files to the shell', async () => {
  expect(await next('proof', 'export', 'run_1', '--out', '')).toEqual([':files']);
  expect(await next('task', 'check', '')).toEqual([':files']);
});

it('completes names of agents, and ids with what they are, from the server', async () => {
  const run = await stage.rest('payer');
  const [id = ''] = run.interruptions;
  expect(await next('run', 'as')).toEqual(['asker']);
  expect(await next('agents', 'as')).toEqual(['asker']);
  expect(await next('runs', '--agent', 'as')).toEqual(['asker']);
  expect(await next('inbox', '--tool', 'p')).toEqual(['pay', 'post', 'payer']);
  for (const command of ['watch', 'show', 'diff', 'verify']) expect(await next(command, '')).toContain(run.id);
  expect(await next('diff', run.id, '')).toContain(run.id);
  expect(await next('retry', '')).toEqual([]);
  const { stdout } = await holdfast(['complete', 'approve', '']);
  expect(stdout).toContain(`${id}\tpay It costs money.\n`);
  expect(await next('emit', 'paid', '--id', '')).toEqual([]);
});

it('says nothing where no server answers, or none may be asked', async () => {
  expect(await holdfast(['complete', 'approve', ''], 'http://127.0.0.1:9')).toEqual({
    code: 0,
    stdout: '',
    stderr: '',
  });
  expect(await runHere(['complete', 'watch', ''], { HOLDFAST_DATA_DIR: join(dir, 'none') })).toMatchObject({
    code: 0,
    stdout: '',
    stderr: '',
  });
});

/** A program of this name that prints what the real one would, hostile values among it. */
function fakeProgram(lines: readonly string[]): string {
  const file = join(dir, 'holdfast');
  writeFileSync(file, `#!/bin/sh\nprintf '%s\\n' ${lines.map((line) => `'${line}'`).join(' ')}\n`);
  chmodSync(file, 0o755);
  return dir;
}

it('bash takes each value as one word, and runs none', async () => {
  const path = fakeProgram(['plain\tof a kind', 'two words\t', `$(touch ${join(dir, 'ran')})\t`]);
  const script = (await holdfast(['completion', 'bash'])).stdout;
  const asked = `${script}\nCOMP_WORDS=(holdfast run ''); COMP_CWORD=2; _holdfast; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const { stdout, stderr } = spawnSync('bash', ['--norc', '-c', asked], {
    encoding: 'utf8',
    env: { ...process.env, PATH: `${path}:${process.env['PATH']}` },
  });
  expect({ stdout, stderr }).toEqual({
    stdout: `plain\ntwo\\ words\n\\$\\(touch\\ ${join(dir, 'ran')}\\)\n`,
    stderr: '',
  });
});

it.each([['bash'], ['zsh'], ['fish']])('the script of %s has no mistake in its syntax', async (shell) => {
  const { stdout, code } = await holdfast(['completion', shell]);
  expect(code).toBe(0);
  const file = join(dir, `script.${shell}`);
  writeFileSync(file, stdout);
  const checked = spawnSync(shell, ['-n', file], { encoding: 'utf8' });
  // A shell that is not installed checks nothing.
  if (checked.error === undefined) expect(checked).toMatchObject({ status: 0, stderr: '' });
});

it('a shell that has no script is refused with those that have one', async () => {
  const { code, stderr } = await holdfast(['completion', 'tcsh']);
  expect(code).toBe(2);
  expect(stderr).toContain('bash, zsh, fish');
});
