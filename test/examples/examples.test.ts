import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeEach, expect, it } from 'vitest';
import { clean, Program } from '../cli/program.js';
import { freePort } from '../harness/free-port.js';
import { SLOW } from '../harness/slow.js';

const EXAMPLES = join(import.meta.dirname, '../../examples');
const JITI = join(import.meta.dirname, '../../node_modules/jiti/lib/jiti-cli.mjs');
const root = mkdtempSync(join(tmpdir(), 'examples-'));
afterAll(() => rmSync(root, { recursive: true, force: true }));

let place: string;
beforeEach(() => {
  place = mkdtempSync(join(root, 'one-'));
});

const environment = (more: Record<string, string> = {}) =>
  clean({ HOLDFAST_DATA_DIR: join(place, 'data'), BANK: join(place, 'payments.txt'), ...more });

const run = (example: string, ...args: string[]) =>
  spawnSync(process.execPath, [JITI, 'main.ts', ...args], {
    cwd: join(EXAMPLES, example),
    env: environment(),
    encoding: 'utf8',
    timeout: 80_000,
  });

/** The output that the README of an example shows. */
function shown(example: string): string {
  const readme = readFileSync(join(EXAMPLES, example, 'README.md'), 'utf8');
  return /```text\n([\s\S]*?)```/.exec(readme)?.[1] ?? 'The README shows no output.';
}

it('lists every example', () => {
  const folders = readdirSync(EXAMPLES, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  const readme = readFileSync(join(EXAMPLES, 'README.md'), 'utf8');
  const listed = [...readme.matchAll(/^\| \[([\w-]+)\]\(\1\/\)/gm)].map(([, name]) => name);
  expect(listed.toSorted()).toEqual(folders.map(({ name }) => name).toSorted());
});

it.runIf(SLOW)('survive-a-crash pays once, though its process dies while it pays', () => {
  const crashed = run('survive-a-crash', 'crash');
  expect(crashed.signal).toBe('SIGKILL');
  expect(readFileSync(join(place, 'payments.txt'), 'utf8').trim().split('\n')).toHaveLength(2);
  expect(run('survive-a-crash')).toMatchObject({ status: 0, stdout: shown('survive-a-crash') });
});

const PRINTING = [
  'wait-for-people',
  'training-data',
  'undo-a-trip',
  'research-plan',
  'remember-customers',
  'improve-a-prompt',
];
it.runIf(SLOW).each(PRINTING)('%s prints what its README shows', (example) => {
  expect(run(example)).toMatchObject({ status: 0, stdout: shown(example) });
});

it.runIf(SLOW)('inside-express starts one run for two requests, and takes a decision', async () => {
  const server = spawn(process.execPath, [JITI, 'main.ts'], {
    cwd: join(EXAMPLES, 'inside-express'),
    env: environment({ PORT: '0' }),
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = once(server, 'close');
  try {
    const [line] = await once(server.stdout.setEncoding('utf8'), 'data');
    const [, port] = /listens on port (\d+)/.exec(String(line)) ?? [];
    const post = async (path: string): Promise<Record<string, unknown>> => {
      const response = await fetch(`http://127.0.0.1:${port}${path}`, { method: 'POST' });
      return Object(await response.json());
    };
    const first = await post('/orders/7/cancel');
    expect(first).toMatchObject({ status: 'paused', interruptions: [expect.stringMatching(/^int_/)] });
    expect(await post('/orders/7/cancel')).toEqual(first);
    const [, id] = /"(int_[0-9a-f]+)"/.exec(JSON.stringify(first)) ?? [];
    const approved = { status: 'completed', output: '{"cancelled":"7"}' };
    expect(await post(`/interruptions/${id}/approve`)).toEqual(approved);
    expect(await post(`/interruptions/${id}/approve`)).toEqual(approved);
    expect(await post('/interruptions/none/approve')).toMatchObject({ code: 'interruption_unknown' });
  } finally {
    server.kill('SIGTERM');
    expect((await ended)[0]).toBe(0);
  }
});

it.runIf(SLOW)('approve-a-refund pauses the larger refund until it is approved, also over a SIGKILL', async () => {
  const port = String(await freePort());
  const env = {
    HOLDFAST_DATA_DIR: join(place, 'data'),
    HOLDFAST_PORT: port,
    HOLDFAST_URL: `http://127.0.0.1:${port}`,
  };
  const at = { cwd: join(EXAMPLES, 'approve-a-refund'), env };
  const holdfast = (...args: string[]) => new Program(args, at).ended;
  const first = new Program(['serve'], at);
  await first.printed(/token/);
  const small = await holdfast('run', 'cashier', 'Refund order 1042, it cost 20 EUR.', '--wait');
  expect(small.stdout).toContain('receipt-1042');
  const large = await holdfast('run', 'cashier', 'Refund order 1043, it cost 80 EUR.', '--wait');
  expect(large.stdout).toMatch(/status +paused/);
  first.child.kill('SIGKILL');
  await first.ended;
  const second = new Program(['serve'], at);
  await second.printed(/token/);
  const inbox = (await holdfast('inbox')).stdout;
  expect(inbox).toContain('Refund 80 EUR for order 1043?');
  const [id = ''] = /int_[0-9a-f]{32}/.exec(inbox) ?? [];
  expect(await holdfast('approve', id)).toMatchObject({ code: 0 });
  const [run = ''] = /run_[0-9a-f]{32}/.exec(large.stdout) ?? [];
  await expect.poll(async () => (await holdfast('trajectory', run)).stdout).toContain('receipt-1043');
  expect(await holdfast('verify', run)).toMatchObject({ code: 0 });
  second.child.kill('SIGTERM');
  await second.ended;
});
