import { chmodSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { type InterruptionView, interruptionView } from '../../src/core/interruptions/interruption.js';
import { TOKENS } from '../http/door.js';
import { openStage, type Stage } from '../http/stage.js';
import { runHere } from './in-process.js';

let stage: Stage;
let dir: string;
let input: PassThrough;
const outer = { stdin: process.stdin, isTTY: process.stdout.isTTY, columns: process.stdout.columns };

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'holdfast-inbox-'));
  stage = await openStage('pglite');
});
afterAll(async () => {
  await stage.door.close();
  rmSync(dir, { recursive: true, force: true });
});
function openInput(): void {
  input = Object.assign(new PassThrough(), { isTTY: true });
  Object.defineProperty(process, 'stdin', { configurable: true, value: input });
}
beforeEach(() => {
  openInput();
  Object.assign(process.stdout, { isTTY: true, columns: 100 });
});
afterEach(() => {
  Object.defineProperty(process, 'stdin', { configurable: true, value: outer.stdin });
  Object.assign(process.stdout, { isTTY: outer.isTTY, columns: outer.columns });
});

/** An inbox of one run, in which these lines are written. */
async function inbox(run: string, lines: readonly string[], env: { [name: string]: string } = {}) {
  openInput();
  input.end(lines.map((line) => `${line}\n`).join(''));
  const there = { HOLDFAST_URL: stage.door.http.url, HOLDFAST_TOKEN: TOKENS.anna.token, HOLDFAST_DATA_DIR: dir };
  const ended = await runHere(['inbox', '--run', run], { ...there, VISUAL: '', ...env });
  expect(ended.stdout).not.toMatch(/[^\P{C}\n]/u);
  return ended;
}
/** An editor that is a shell script. */
function editor(script: string): string {
  const file = join(dir, `editor-${readdirSync(dir).length}`);
  writeFileSync(file, `#!/bin/sh\n${script}\n`);
  chmodSync(file, 0o755);
  return file;
}
async function decisionOf(id = ''): Promise<InterruptionView> {
  return interruptionView.parse((await stage.door.ask('vera', 'GET', `/api/v1/interruptions/${id}`)).json);
}

it('shows a call, tells the story, and approves it with a message', async () => {
  const run = await stage.rest('payer', { input: 'pay \u001b[2J' });
  const { code, stdout, stderr } = await inbox(run.id, ['', 'what', 's', 'app Half of it now.']);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(stdout).toContain('  why      It costs money.\n');
  expect(stdout.split('Write one of the words, or its first letters.\n')).toHaveLength(3);
  expect(stdout).toContain('  input      pay \\u001b[2J\n');
  expect(stdout).toMatch(/int_\w+ is approved\.\n1 decided\.\n$/);
  expect(await decisionOf(run.interruptions[0])).toMatchObject({
    ...{ status: 'approved', decisions: [{ verdict: 'approve', actor: 'anna', message: 'Half of it now.' }] },
  });
});

it('rejects with a reason that is asked for, and leaves what is passed by', async () => {
  const run = await stage.rest('payer');
  expect((await inbox(run.id, ['reject', ''])).stdout).toContain('nothing is decided.');
  expect((await inbox(run.id, ['next'])).stdout).toMatch(/0 decided\.\n$/);
  expect((await inbox(run.id, ['quit'])).stdout).toMatch(/0 decided\.\n$/);
  expect((await inbox(run.id, [])).stdout).toMatch(/0 decided\.\n$/);
  expect(await decisionOf(run.interruptions[0])).toMatchObject({ status: 'pending' });
  await inbox(run.id, ['rej', 'The invoice is missing.']);
  expect(await decisionOf(run.interruptions[0])).toMatchObject({
    ...{ status: 'rejected', decisions: [{ message: 'The invoice is missing.' }] },
  });
  expect((await inbox(run.id, [])).stdout).toBe('Nothing waits for a decision.\n');
});

it('approves arguments as the editor left them, after a look at what changed', async () => {
  const run = await stage.rest('payer');
  const half = { EDITOR: `${editor(`sed -i 's/5/2/' "$1"`)}` };
  const unsure = await inbox(run.id, ['edit', ''], half);
  expect(unsure.stdout).toContain('    replace /amount 2\n');
  expect(await decisionOf(run.interruptions[0])).toMatchObject({ status: 'pending' });
  await inbox(run.id, ['edit', 'y'], half);
  expect(await decisionOf(run.interruptions[0])).toMatchObject({
    ...{ status: 'approved', decisions: [{ edit: { arguments: { to: 'alice', amount: 2 } } }] },
  });
});

it('decides nothing where the editor changed nothing, wrote no JSON, or failed', async () => {
  const run = await stage.rest('payer');
  const said = async (script: string) => {
    const { stdout, stderr } = await inbox(run.id, ['edit'], { EDITOR: editor(script) });
    return stdout + stderr;
  };
  expect(await said('true')).toContain('Nothing was changed');
  expect(await said('echo "[" > "$1"')).toContain('That is no JSON');
  expect(await said('echo "[]" > "$1"')).toContain('Arguments are a JSON object');
  expect(await said('exit 3')).toContain('ended with the exit code 3');
  expect(await decisionOf(run.interruptions[0])).toMatchObject({ status: 'pending' });
});

it('answers a question by the number of a choice, and by JSON from the editor until it fits', async () => {
  const [chooser, asker] = [await stage.rest('chooser'), await stage.rest('asker')];
  expect((await inbox(chooser.id, ['answer 2'])).stdout).toContain('    2  blue\n');
  expect(await decisionOf(chooser.interruptions[0])).toMatchObject({ decisions: [{ value: 'blue' }] });
  const wrong = await inbox(asker.id, ['answer {"cents": "x"}', 'a'], {
    EDITOR: editor(`echo '{"cents": 7}' > "$1"`),
  });
  expect(wrong.stderr).toContain('/value/cents');
  expect(await decisionOf(asker.interruptions[0])).toMatchObject({ decisions: [{ value: { cents: 7 } }] });
});

it('goes on where another person was faster', async () => {
  const run = await stage.rest('payer');
  const [id] = run.interruptions;
  const there = { HOLDFAST_URL: stage.door.http.url, HOLDFAST_TOKEN: TOKENS.anna.token, HOLDFAST_DATA_DIR: dir };
  const deciding = runHere(['inbox', '--run', run.id], there);
  const wasRead = () =>
    stage.door.logged.some(({ fields }) => JSON.stringify(fields).includes(`/interruptions/${id}"`));
  await expect.poll(wasRead).toBe(true);
  await stage.door.ask('anna', 'POST', `/api/v1/interruptions/${id}/approve`);
  input.end('reject No.\n');
  const { code, stdout, stderr } = await deciding;
  expect(stderr).toContain('(decision_conflict)');
  expect({ code, end: stdout.trim().split('\n').at(-1) }).toEqual({
    code: 0,
    end: expect.stringMatching(/0 decided\.$/),
  });
});

it('lists where it is asked to, and elsewhere than at a terminal', async () => {
  const run = await stage.rest('payer');
  const there = { HOLDFAST_URL: stage.door.http.url, HOLDFAST_TOKEN: TOKENS.anna.token, HOLDFAST_DATA_DIR: dir };
  const asked = await runHere(['inbox', '--run', run.id, '--list'], there);
  Object.assign(process.stdout, { isTTY: undefined });
  const piped = await runHere(['inbox', '--run', run.id], there);
  for (const { stdout } of [asked, piped]) {
    expect(stdout).toContain('  verdicts approve, reject');
    expect(stdout).not.toContain(' > ');
  }
});
