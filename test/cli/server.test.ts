import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createEngineDatabase, type TestDatabase } from '../harness/database.js';
import { SLOW } from '../harness/slow.js';
import { runHere } from './in-process.js';
import { Program } from './program.js';

/** Two agents: one pays after an approval, one takes a minute for its first answer. */
const CONFIG = `
import { Agent } from '@openai/agents';
import { z } from 'zod';
import { defineConfig, defineTool, functionModel } from 'holdfast';

const pay = defineTool({
  name: 'pay', description: 'Pays.', input: z.object({ amount: z.number() }), output: z.object({ paid: z.number() }),
  approval: 'It costs money.', execute: ({ amount }) => ({ paid: amount }),
});
const payer = functionModel('payer', ({ input }) => {
  const results = input.filter((item: { type?: string }) => item.type === 'function_call_result');
  if (results.length === 0) {
    return [{ type: 'function_call', callId: '', name: 'pay', arguments: '{"amount":5}', status: 'completed' }];
  }
  return [{ type: 'message', role: 'assistant', status: 'completed', content: [{ type: 'output_text', text: 'done' }] }];
});
const slow = functionModel('slow', () => [], { delayMs: 60_000 });
export default defineConfig({ agents: [
  { agent: new Agent({ name: 'payer', model: payer, tools: [pay] }), grants: ['tool:call:pay'] },
  { agent: new Agent({ name: 'slow', model: slow }) },
  { agent: new Agent({ name: 'rare', model: payer, tools: [pay] }), grants: ['tool:call:pay'], rate: { runs: 1, perMs: 3600000 } },
] });
`;

let database: TestDatabase;
let dir: string;
let server: Program;
let url: string;

const env = (more: { [name: string]: string } = {}) => ({
  HOLDFAST_DATA_DIR: database.options.dataDir,
  HOLDFAST_SHUTDOWN_GRACE_MS: '3000',
  ...more,
});
const start = async (): Promise<void> => {
  server = new Program(['serve', '--port', '0'], { cwd: dir, env: env() });
  const [, address = ''] = await server.printed(/^url +(\S+)\n[\s\S]*^agents/m);
  url = address;
};
/** The command as a process of its own, and in this one, which is faster. */
const command = (...args: readonly string[]) =>
  new Program(args, { cwd: dir, env: env({ HOLDFAST_URL: url }), stdin: 'from stdin' }).ended;
const holdfast = (...args: readonly string[]) => runHere(args, env({ HOLDFAST_URL: url }));
const json = async (...args: readonly string[]) => {
  const { stdout, stderr } = await (args.includes('-') ? command : holdfast)(...args, '--json');
  expect(stderr).toBe('');
  return JSON.parse(stdout);
};

const working = async (): Promise<string[]> =>
  (await json('runs', '--status', 'running')).items.map((run: { id: string }) => run.id);
/** Starts a run that takes a minute, and waits until it works. */
async function inFlight(): Promise<string> {
  const { id } = await json('run', 'slow', 'go');
  await expect.poll(working).toContain(id);
  return id;
}

beforeAll(async () => {
  database = await createEngineDatabase('pglite');
  dir = database.options.dataDir;
  writeFileSync(join(dir, 'holdfast.config.ts'), CONFIG);
  await start();
});
afterAll(async () => {
  server.child.kill('SIGKILL');
  await server.ended;
  await database.drop();
});

describe('the commands against a server', () => {
  it('serve says where it listens, with which token, on what and with whom', () => {
    expect(server.stdout).toMatch(/^token +\S{40,}$/m);
    expect(server.stdout).toContain(`PGlite in ${dir}`);
    expect(server.stdout).toContain(join(dir, 'holdfast.config.ts'));
    expect(server.stdout).toMatch(/^agents +payer, slow, rare$/m);
  });

  it('a run is started, found in the inbox, approved, followed to its end, and verified', async () => {
    const run = await json('run', 'payer', '-', '--wait');
    expect(run).toMatchObject({ status: 'paused', agent: 'payer', input: 'from stdin' });
    const inbox = await holdfast('inbox', '--run', run.id);
    expect(inbox.stdout).toContain('It costs money.');
    const id = run.interruptions[0];
    const following = command('events', run.id, '--follow');
    expect((await command('approve', id, '-m', 'fine')).stdout).toContain('approve by admin');
    const rejected = await command('reject', id, '-m', 'no');
    expect(rejected.code).toBe(1);
    expect(rejected.stderr).toContain('(decision_conflict)');
    const followed = await following;
    expect(followed.code).toBe(0);
    expect(followed.stdout).toMatch(/run\.completed[^\n]*\n$/);
    const events = (await holdfast('events', run.id, '--json')).stdout.trim().split('\n');
    expect(events.map((line) => JSON.parse(line).seq)).toEqual(events.map((_line, index) => index + 1));
    expect(followed.stdout.trim().split('\n').length).toBe(events.length);
    expect(await json('verify', run.id)).toMatchObject({ ok: true, complete: true, events: events.length });
    expect((await holdfast('verify', '--all')).stdout).toMatch(
      /^ok: [1-9]\d* runs, [1-9]\d* events, [1-9]\d* complete, \d+ anchored\nlog over all runs: \d+ entries, [^\n]+\n$/,
    );
    expect(await json('verify', '--all')).toMatchObject({ ok: true, log: { ok: true, problems: [] }, broken: [] });
    expect(await json('verify', run.id, run.id)).toMatchObject({ ok: true, runs: 2, complete: 2, broken: [] });
    expect((await holdfast('verify', '--all', run.id)).code).toBe(2);
    expect((await holdfast('state', run.id)).stdout).toContain('status           completed');
    expect((await holdfast('diff', run.id, run.id)).stdout).toBe(`The same: ${events.length - 1} events.\n`);
    expect(await json('replay', run.id)).toMatchObject({ result: 'same', whole: true, upTo: events.length });
    expect((await holdfast('replay', run.id)).stdout).toContain(`up to event ${events.length}`);
    const live = await json('replay', run.id, '--live-model');
    expect(live).toMatchObject({ mode: 'live_model', result: 'same', live: { now: { end: 'completed' } } });
    expect((await holdfast('replay', run.id, '--live-model')).stdout).toMatch(
      /^same: \d+ answers.*\n +recorded +now\nturns/,
    );
    const bounded = await holdfast('replay', run.id, '--live-model', '--max-usd', '1');
    expect(bounded.stdout).toContain('stopped at turn 1: No price of object/payer is known');
    expect((await holdfast('replay', run.id, '--max-usd', '1')).code).toBe(2);
    expect((await holdfast('trajectory', run.id)).stdout).toContain('pay {"amount":5}');
    const lines = (await holdfast('steps', run.id, '--follow')).stdout.trim().split('\n');
    const steps = lines.map((line) => JSON.parse(line) as { step: number; action: object; done: boolean });
    expect(steps.map(({ step, done }) => [step, done])).toEqual(
      lines.map((_, at) => [at + 1, at === lines.length - 1]),
    );
    expect(steps[0]).toMatchObject({
      ...{ run: run.id, task: null, reward: null, rewardSoFar: null, tokens: { totalTokens: expect.any(Number) } },
      action: { type: 'tool', calls: [{ tool: 'pay', arguments: { amount: 5 }, outcome: 'output' }] },
    });
    const given = await holdfast('reward', run.id, '0.5', '--signal', 'tests=1', '--signal', 'a=b=0', '--passed');
    expect(given.stdout).toBe(`${run.id}: reward 0.5, version 1\n`);
    expect((await holdfast('trajectory', run.id)).stdout).toContain('success, reward 0.5');
    const found = await json(
      'trajectories',
      '--result',
      'success',
      '--min-reward',
      '0.5',
      '--agent',
      'payer',
      '--min-quality',
      '0',
      '--max-diversity',
      '1',
    );
    expect(found.items).toMatchObject([{ runId: run.id, verificationPassed: true }]);
    expect((await holdfast('trajectories', '--max-reward', '0.5')).stdout).toContain(run.id);
    expect((await holdfast('task', 'list', '--min-quality', '0.9', '--max-reward', '1')).code).toBe(0);
    expect((await holdfast('reward', run.id, 'much')).code).toBe(2);
    const runs = await holdfast('runs', '--status', 'completed', '--agent', 'payer');
    expect(runs.stdout).toContain(run.id);
  });

  it('the same idempotency key gives the same run, and an agent that is not there is named', async () => {
    const [first, again] = [
      await json('run', 'payer', 'go', '--key', 'k'),
      await json('run', 'payer', 'go', '--key', 'k'),
    ];
    expect(again.id).toBe(first.id);
    const odd = String.raw`a"b\c`;
    const [quoted, twice] = [
      await json('run', 'payer', 'go', '--key', odd),
      await json('run', 'payer', 'go', '--key', odd),
    ];
    expect([quoted.id === twice.id, quoted.id === first.id]).toEqual([true, false]);
    const unknown = await holdfast('run', 'nobody', 'go');
    expect(unknown.code).toBe(1);
    expect(unknown.stderr).toMatch(/^holdfast: .*payer, slow, rare.* \(agent_unknown\)\n {2}[^\n]+\n$/);
  });

  it.runIf(SLOW)('run --wait fails with a run that is cancelled', async () => {
    const waiting = new Program(['run', 'slow', 'go', '--wait'], { cwd: dir, env: env({ HOLDFAST_URL: url }) });
    const [, id = ''] = await waiting.printed(/^run (\S+)/);
    await holdfast('cancel', id, '-m', 'enough');
    const ended = await waiting.ended;
    expect(ended.code).toBe(1);
    expect(ended.stdout).toContain('cancelled');
  });

  it('delete removes a run that waits for its turn', async () => {
    await holdfast('run', 'rare', 'go', '--wait');
    const { id } = await json('run', 'rare', 'go');
    expect((await holdfast('delete', id)).stdout).toBe(`run ${id} deleted\n`);
    expect((await holdfast('delete', id)).stderr).toContain('(run_unknown)');
  });

  it('erase takes away all runs of a subject, and says before which', async () => {
    const said = ['--metadata', '{"tags": ["nightly"]}'];
    const { id, metadata } = await json('run', 'payer', 'go', '--subject', 'ann', 'bob', ...said);
    expect(metadata).toEqual({ tags: ['nightly'] });
    const erase = (...more: string[]) => holdfast('erase', '--subject', 'ann', '-m', 'asked for', ...more);
    expect((await erase('--dry-run')).stdout).toBe(`1 runs would be erased, not over: ${id}\n`);
    expect((await erase()).stderr).toContain('(run_not_over)');
    expect((await erase('--cancel')).stdout).toMatch(/^era_[0-9a-f]{32} done: 1 runs erased, 0 left\n$/m);
    expect((await holdfast('runs', '--status', 'cancelled')).stdout).toContain(id);
    expect((await erase('--family')).code).toBe(2);
    expect((await holdfast('erase', id, '-m', 'why', '--cancel')).code).toBe(2);
    expect((await holdfast('erase', '-m', 'why')).stderr).toContain('--subject');
  });

  it.runIf(SLOW)('a worker serves nothing and makes no token', async () => {
    const own = await createEngineDatabase('pglite');
    const { dataDir } = own.options;
    const worker = new Program(['serve', '--role', 'worker'], { cwd: dir, env: env({ HOLDFAST_DATA_DIR: dataDir }) });
    await worker.printed(
      /^role +worker[\s\S]*^database +PGlite[^\n]*\n +which is of this process alone[\s\S]*^agents/m,
    );
    expect(existsSync(join(dataDir, 'token'))).toBe(false);
    worker.child.kill('SIGTERM');
    expect(await worker.ended).toMatchObject({ code: 0, stdout: expect.not.stringContaining('token') });
    await own.drop();
  });

  it.runIf(SLOW)('a worker with a port for metrics answers to Prometheus alone', async () => {
    const own = await createEngineDatabase('pglite');
    const { dataDir } = own.options;
    const there = env({ HOLDFAST_DATA_DIR: dataDir, HOLDFAST_METRICS_PORT: '0', HOLDFAST_LOG_LEVEL: 'info' });
    const worker = new Program(['serve', '--role', 'worker'], { cwd: dir, env: there });
    const [, url = ''] = await worker.printed(/^metrics +(\S+)\n[\s\S]*^agents/m);
    const headers = { Authorization: `Bearer ${readFileSync(join(dataDir, 'token'), 'utf8').trim()}` };
    expect(await (await fetch(url, { headers })).text()).toMatch(/^holdfast_build_info\{.*role="worker"\} 1$/m);
    expect((await fetch(url.replace('/metrics', '/runs'), { headers })).status).toBe(404);
    worker.child.kill('SIGTERM');
    const { code, stderr } = await worker.ended;
    expect(code).toBe(0);
    const lines = stderr
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    for (const { level, timestamp, component, event, message } of lines) {
      expect(level).toMatch(/^(INFO|WARN|ERROR)$/);
      expect(timestamp).toMatch(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/);
      expect([typeof component, typeof event, typeof message]).toEqual(['string', 'string', 'string']);
    }
    expect(lines.map(({ event }) => event)).toEqual(
      expect.arrayContaining(['started', 'request', 'stopping', 'stopped']),
    );
    expect(lines.find(({ event }) => event === 'started')).toMatchObject({ component: 'engine', workerId: 'local' });
    const unnamed = lines
      .slice(lines.findIndex(({ event }) => event === 'started'))
      .filter(({ workerId }) => workerId !== 'local');
    expect(unnamed).toEqual([]);
    expect(stderr).not.toContain(headers.Authorization.slice('Bearer '.length));
    await own.drop();
  });

  it.runIf(SLOW)('an operator sees the worker and stops it from afar', async () => {
    const { items } = await json('workers');
    const local = items.find(({ id }: { id: string }) => id === 'local');
    expect(local).toMatchObject({ role: 'all', status: 'working', capacity: 32, pid: server.child.pid });
    expect((await holdfast('workers', 'local')).stdout).toMatch(/^local +all +working +\d+ +32 /m);
    expect(await json('work')).toEqual({ items: [] });
    expect((await holdfast('work', '--lift', 'replay of none')).stdout).toBe('0 deaths forgotten\n');
    expect(await json('workers', 'local', '--stop', 'drain')).toMatchObject({ id: 'local', status: 'stopping' });
    expect((await server.ended).code).toBe(0);
    await start();
    expect(await json('workers', 'local')).toMatchObject({ status: 'working', epoch: local.epoch + 1 });
  });

  it.runIf(SLOW)('a server that executes nothing says so', async () => {
    const own = await createEngineDatabase('pglite');
    const { dataDir } = own.options;
    const api = new Program(['serve', '--role', 'api', '--port', '0'], {
      ...{ cwd: dir, env: env({ HOLDFAST_DATA_DIR: dataDir }) },
    });
    const [, address = ''] = await api.printed(/^role +api[^\n]*\nurl +(\S+)\n[\s\S]*^agents/m);
    const there = env({ HOLDFAST_URL: address, HOLDFAST_DATA_DIR: dataDir });
    const { id } = JSON.parse((await runHere(['run', 'payer', 'go', '--json'], there)).stdout);
    await new Promise((resolve) => setTimeout(resolve, 1500));
    expect(JSON.parse((await runHere(['runs', '--json'], there)).stdout).items).toMatchObject([
      { id, status: 'queued' },
    ]);
    api.child.kill('SIGTERM');
    expect((await api.ended).code).toBe(0);
    await own.drop();
  });

  it.runIf(SLOW)('a second server on the data directory is refused, and doctor says who has it', async () => {
    const second = await new Program(['serve', '--port', '0'], { cwd: dir, env: env() }).ended;
    expect(second.code).toBe(1);
    expect(second.stderr).toMatch(/^holdfast: Process \d+ owns [^\n]+ \(data_dir_in_use\)\n {2}[^\n]+\n$/);
    const doctor = await new Program(['doctor'], { cwd: dir, env: env({ HOLDFAST_PORT: new URL(url).port }) }).ended;
    expect(doctor.stdout).toContain(`Process ${server.child.pid} owns the data directory`);
    expect(doctor.stdout).toContain(`a Holdfast server answers at ${url}`);
    expect(doctor.code).toBe(0);
  });

  it.runIf(SLOW)('SIGTERM stops it within its grace, and the run in flight goes on at the next start', async () => {
    const id = await inFlight();
    server.child.kill('SIGTERM');
    const stopped = await server.ended;
    expect(stopped.code).toBe(0);
    const migrated = await new Program(['migrate'], { cwd: dir, env: env() }).ended;
    expect(migrated.stdout).toBe('The database is up to date.\n');
    await start();
    await expect.poll(working).toEqual([id]);
  });

  it('a second signal ends it at once, with a run in flight', async () => {
    await inFlight();
    server.child.kill('SIGTERM');
    await new Promise((resolve) => setTimeout(resolve, 200));
    server.child.kill('SIGTERM');
    expect((await server.ended).code).toBe(1);
  });
});
