import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { TOKENS } from '../http/door.js';
import { openStage, type Stage } from '../http/stage.js';
import { runHere } from './in-process.js';

let stage: Stage;
let dir: string;
beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'holdfast-show-'));
  stage = await openStage('pglite');
});
afterAll(async () => {
  await stage.door.close();
  rmSync(dir, { recursive: true, force: true });
});

const holdfast = (...args: string[]) =>
  runHere(args, { HOLDFAST_URL: stage.door.http.url, HOLDFAST_TOKEN: TOKENS.vera.token, HOLDFAST_DATA_DIR: dir });
const HOSTILE = '\u001b]0;owned\u0007\u202e';
const approve = (id = '') =>
  stage.door.ask('anna', 'POST', `/api/v1/interruptions/${id}/approve`, { message: HOSTILE });
/** Everything printed may be given to a terminal. */
const isPlain = (text: string): boolean => !/[^\P{C}\n]/u.test(text);

it('agents lists them all, shows one, and names the nearest of one that is not there', async () => {
  const all = await holdfast('agents');
  expect(all.stdout).toMatch(/^AGENT +VERSION +MODEL +TOOLS\n/);
  expect(all.stdout).toMatch(/^payer .+ pay, post, ask_human/m);
  expect(JSON.parse((await holdfast('agents', '--json')).stdout)).toHaveLength(9);
  const one = await holdfast('agents', 'asker');
  expect(one.stdout).toMatch(/^agent {4}asker \S+\n/);
  expect(one.stdout).toContain('tool     ask_human\n');
  expect(one.stdout).toMatch(/^grant {4}.*bank:pay:carol/m);
  const typo = await holdfast('agents', 'askr');
  expect(typo).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining('Did you mean "asker"?') });
});

it('show says what was asked, what the run waits for, and what fits next', async () => {
  const run = await stage.rest('payer', { input: `go ${HOSTILE}`, metadata: { tags: ['x'] } });
  const { stdout } = await holdfast('show', run.id);
  expect(stdout).toMatch(/^status {3}paused$/m);
  expect(stdout).toContain('input    go \\u001b]0;owned\\u0007\\u202e\n');
  expect(stdout).toContain('metadata {"tags":["x"]}\n');
  expect(stdout).toContain('  why      It costs money.\n');
  expect(stdout).toContain(`next     holdfast inbox --run ${run.id}\n`);
  expect(isPlain(stdout)).toBe(true);
  const [id] = run.interruptions;
  expect(JSON.parse((await holdfast('show', run.id, '--json')).stdout)).toMatchObject({
    ...{ run: { id: run.id }, interruptions: [{ id }], children: [] },
  });
  expect((await holdfast('show', 'run_x')).stderr).toContain('(run_unknown)');
});

it('watch tells a run until it is over, with who decided, and shows no control character', async () => {
  const run = await stage.rest('payer', { input: `go\n${HOSTILE}` });
  const watching = holdfast('watch', run.id);
  await approve(run.interruptions[0]);
  const { code, stdout } = await watching;
  expect(code).toBe(0);
  expect(isPlain(stdout)).toBe(true);
  expect(stdout.replaceAll(/int_\w+/g, 'int_1').split('\n')).toEqual([
    'input      go',
    '           \\u001b]0;owned\\u0007\\u202e',
    'call       pay {"amount":5,"to":"alice"}',
    'waits      It costs money. (approval int_1)',
    'paused',
    'anna       approved: \\u001b]0;owned\\u0007\\u202e',
    'resumed',
    '           pay -> {"paid":5}',
    'payer      done',
    'completed  done',
    expect.stringMatching(/^ {11}2 turns, \d+ tokens, /),
    '',
  ]);
  const lines = (await holdfast('watch', run.id, '--json')).stdout.trim().split('\n');
  expect(lines.map((line) => JSON.parse(line).seq)).toEqual(lines.map((_line, at) => at + 1));
});

it('watch fails with a run that fails, and says the way out', async () => {
  const run = await stage.rest('twice', { maxTurns: 1 });
  await stage.always(run);
  const { code, stdout } = await holdfast('watch', run.id);
  expect(code).toBe(1);
  expect(stdout).toMatch(/^failed {5}.+\(\w+\)\n {11}\S/m);
});

it('at a terminal, an answer in pieces is printed once, while it is said', async () => {
  const { isTTY, columns } = process.stdout;
  Object.assign(process.stdout, { isTTY: true, columns: 80 });
  try {
    const run = await stage.rest('talker');
    const watching = holdfast('watch', run.id);
    // The deltas of an answer reach only clients that listen when it is said.
    await new Promise((resolve) => setTimeout(resolve, 1000));
    await approve(run.interruptions[0]);
    const { stdout } = await watching;
    // An event that comes between two pieces stands before the answer, which begins again.
    const lines = stdout.split('\n').filter((line) => !/^says .*…$/.test(line));
    expect(lines.slice(-5)).toEqual([
      '           pay -> {"paid":5}',
      expect.stringMatching(/^(says {7}|talker {5})It was paid, and here is the receipt\.$/),
      'completed  It was paid, and here is the receipt.',
      expect.stringContaining('2 turns'),
      '',
    ]);
    expect(stdout).toMatch(/^says {7}It/m);
  } finally {
    Object.assign(process.stdout, { isTTY, columns });
  }
});

it('console prints an address that signs a browser in, once', async () => {
  const { stdout, code } = await holdfast('console', '--no-open');
  expect(code).toBe(0);
  const address = new URL(stdout.split('\n')[0] ?? '');
  expect(address.href).toMatch(new RegExp(`^${stage.door.http.url}/login#code=[\\w.-]+$`));
  expect(stdout).toContain('It signs one browser in, once, within a minute.\n');
  const signIn = () =>
    fetch(`${stage.door.http.url}/api/v1/sign-ins`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', 'Sec-Fetch-Site': 'same-origin', 'Holdfast-Console': '1' },
      body: JSON.stringify({ code: address.hash.slice('#code='.length) }),
    });
  const first = await signIn();
  expect(await first.json()).toMatchObject({ actor: 'vera', role: 'viewer' });
  expect((await signIn()).status).toBe(401);
  expect(JSON.parse((await holdfast('console', '--json')).stdout)).toMatchObject({ expiresAt: expect.any(String) });
});
