import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createEngineDatabase, type TestDatabase } from '../harness/database.js';
import { SLOW } from '../harness/slow.js';
import { runHere } from './in-process.js';
import { Program } from './program.js';

/** A server whose tools, callbacks and hooks throw where no one waits for them. */

const CONFIG = `
import { EventEmitter } from 'node:events';
import { readFile } from 'node:fs';
import { Agent, MCPServerStdio, tool } from '@openai/agents';
import { z } from 'zod';
import { defineConfig, defineTool, functionModel } from 'holdfast';

const WAYS = {
  timer: () => setTimeout(() => { throw new Error('late boom'); }, 5),
  rejection: () => void Promise.reject(new Error('late boom')),
  microtask: () => queueMicrotask(() => { throw new Error('late boom'); }),
  emitter: () => setImmediate(() => new EventEmitter().emit('error', new Error('late boom'))),
  disk: () => readFile('/nowhere', () => { throw new Error('late boom'); }),
  text: () => setTimeout(() => { throw 'late boom'; }, 5),
  revoked: () => setTimeout(() => { const { proxy, revoke } = Proxy.revocable({}, {}); revoke(); throw proxy; }, 5),
  bare: () => setTimeout(() => { throw Object.create(null); }, 5),
  getter: () => setTimeout(() => { throw Object.defineProperty(new Error('x'), 'message', { get() { throw new Error('no'); } }); }, 5),
};
const never = () => new Promise(() => {});
const shape = { description: 'Throws.', input: z.object({}), output: z.string() };
const tools = Object.entries(WAYS).map(([name, way]) =>
  defineTool({ name, ...shape, effect: 'pure', execute: () => { way(); return never(); } }));
const awaited = defineTool({ name: 'awaited', ...shape, effect: 'pure', execute: () => { const { proxy, revoke } = Proxy.revocable({}, {}); revoke(); throw proxy; } });
const listening = defineTool({
  name: 'listening', ...shape, effect: 'pure', timeoutMs: 200,
  execute: (_input, { signal }) => { signal.addEventListener('abort', () => { throw new Error('late boom'); }); return never(); },
});
const strict = defineTool({ name: 'strict', ...shape, effect: 'pure', onFailure: 'fail', execute: () => { WAYS.timer(); return never(); } });
const unsafe = defineTool({ name: 'unsafe', ...shape, effect: 'unsafe', execute: () => { WAYS.timer(); return never(); } });
const plain = tool({ name: 'plain', description: 'Throws.', parameters: z.object({}), execute: () => { WAYS.timer(); return never(); } });
const after = defineTool({ name: 'after', ...shape, effect: 'pure', execute: () => { WAYS.timer(); return 'in time'; } });
const beside = defineTool({
  name: 'beside', ...shape, effect: 'pure',
  execute: () => new Promise((resolve) => setTimeout(() => resolve('whole'), 300)),
});
const calls = (...names) => names.map((name) => ({ type: 'function_call', callId: name, name, arguments: '{}', status: 'completed' }));
const says = [{ type: 'message', role: 'assistant', status: 'completed', content: [{ type: 'output_text', text: 'done' }] }];
const model = (...names) => functionModel('caller', ({ input }) =>
  input.some((item) => item.type === 'function_call_result') ? says : calls(...names));
const agent = (name, model, tools, more = {}) => ({ agent: new Agent({ name, model, tools, ...more }), grants: ['tool:call:*'] });

const talk = defineTool({
  name: 'talk', ...shape, effect: 'pure',
  execute: () => { console.error('odd %d', 5, { a: 1 }); process.emitWarning('old part'); return 'said'; },
});
const odd = new MCPServerStdio({
  name: 'odd', command: process.execPath, args: ['-e', "console.error('the server is not well')"],
});
const hooked = agent('hook', model('beside'), [beside]);
hooked.agent.on('agent_tool_start', async () => { throw new Error('late boom'); });
export default defineConfig({ agents: [
  ...tools.map((one) => agent(one.name, model(one.name, 'beside'), [one, beside])),
  agent('awaited', model('awaited'), [awaited]),
  agent('listening', model('listening', 'beside'), [listening, beside]),
  agent('strict', model('strict'), [strict]),
  agent('unsafe', model('unsafe'), [unsafe]),
  agent('plain', model('plain'), [plain]),
  agent('after', model('after', 'beside'), [after, beside]),
  agent('model', functionModel('odd', () => { WAYS.timer(); return never(); }), []),
  agent('instructions', model('after'), [after], { instructions: () => { WAYS.timer(); return never(); } }),
  hooked,
  agent('console', model('talk'), [talk]),
  agent('mcp', model('nothing'), [], { mcpServers: [odd] }),
] });
const key = process.env.SOME_KEY;
process.on('SIGWINCH', () => Promise.reject(Object.assign(new Error('no one knows why'), { headers: { key } })));
process.on('SIGUSR2', () => { throw Object.assign(new Error('no one knows why'), { headers: { key } }); });
`;
const SECRET = 'hush-hush-0123456789';

let database: TestDatabase;
let dir: string;
let server: Program;
let url: string;

const env = (more: { [name: string]: string } = {}) => ({ HOLDFAST_DATA_DIR: database.options.dataDir, ...more });
async function start(): Promise<void> {
  server = new Program(['serve', '--port', '0'], {
    cwd: dir,
    env: env({ SOME_KEY: SECRET, HOLDFAST_LOG_LEVEL: 'info' }),
  });
  [, url = ''] = await server.printed(/^url +(\S+)\n[\s\S]*^agents/m);
}
const json = async (...args: readonly string[]) =>
  JSON.parse((await runHere([...args, '--json'], env({ HOLDFAST_URL: url }))).stdout);
const logged = () =>
  server.stderr
    .trim()
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line));
/** Runs an agent to its rest, and gives how each of its calls ended. */
async function run(agent: string) {
  const { id, status, error } = await json('run', agent, 'go', '--wait');
  const lines = (await runHere(['events', id, '--json'], env({ HOLDFAST_URL: url }))).stdout.trim().split('\n');
  const events = lines.map((line) => JSON.parse(line));
  const outcomes = events.filter(({ kind }) => kind === 'call.finished').map(({ data }) => [data.callId, data.outcome]);
  return { id, status, error, events, outcomes: Object.fromEntries(outcomes) };
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

describe.runIf(SLOW)('what the code of a run throws where no one waits for it', () => {
  it.each(['timer', 'rejection', 'microtask', 'emitter', 'disk', 'text'])(
    'fails the call, from a %s; the call beside it and the run go on',
    async (way) => {
      const { id, status, outcomes } = await run(way);
      expect(status).toBe('completed');
      expect(outcomes[way]).toEqual({ type: 'error', code: 'tool_failed', message: `${way} failed: late boom` });
      expect(outcomes.beside).toEqual({ type: 'output', output: 'whole' });
      expect(logged()).toContainEqual(
        expect.objectContaining({
          ...{ level: 'WARN', component: 'worker', event: 'threw_late', runId: id },
          data: expect.objectContaining({ tool: way, callId: way, failed: true }),
        }),
      );
    },
  );

  it.each([
    ['revoked', 'a value of type object without a text'],
    ['bare', '[Object: null prototype] {}'],
    ['getter', 'a value of type object without a text'],
  ])('fails the call also where no one can look at what was thrown: %s', async (way, said) => {
    const { status, outcomes } = await run(way);
    expect(status).toBe('completed');
    expect(outcomes[way]).toEqual({ type: 'error', code: 'tool_failed', message: `${way} failed: ${said}` });
    expect((await json('run', 'awaited', 'go', '--wait')).status).toBe('completed');
  });

  it('fails no other call where the listener of a signal throws', async () => {
    const { id, status, outcomes } = await run('listening');
    expect(status).toBe('completed');
    expect(outcomes.listening).toMatchObject({ type: 'error', code: 'tool_timeout' });
    expect(outcomes.beside).toEqual({ type: 'output', output: 'whole' });
    expect(logged()).toContainEqual(expect.objectContaining({ event: 'threw_late', runId: id }));
  });

  it('ends the run by name where the tool says so', async () => {
    expect(await run('strict')).toMatchObject({
      ...{ status: 'failed', error: { code: 'tool_failed', message: 'strict failed: late boom' } },
    });
  });

  it.each(['unsafe', 'plain'])('asks a person about an unsafe call whose rest may happen: %s', async (name) => {
    const { status, events } = await run(name);
    expect(status).toBe('paused');
    const unknown = events.find(({ kind }) => kind === 'call.unknown');
    expect(unknown.data.text).toContain('threw where no one waited for it (late boom)');
  });

  it('leaves the outcome of a call that has ended as it is, and says so', async () => {
    const { id, outcomes } = await run('after');
    expect(outcomes).toEqual({
      after: { type: 'output', output: 'in time' },
      beside: { type: 'output', output: 'whole' },
    });
    expect(logged()).toContainEqual(
      expect.objectContaining({ event: 'threw_late', runId: id, data: expect.objectContaining({ failed: false }) }),
    );
  });

  it.each(['model', 'instructions', 'hook'])('ends the run by its own text, from a %s', async (name) => {
    const { status, error } = await run(name);
    expect(status).toBe('failed');
    expect(error.message).toContain('late boom');
  });
});

describe.runIf(SLOW)('the log of a server', () => {
  it('has what libraries, tools, warnings and MCP servers write to standard error as lines of its own', async () => {
    await run('console');
    await run('mcp');
    const lines = logged();
    expect(lines).toContainEqual(
      expect.objectContaining({ component: 'console', event: 'said', message: 'odd 5 { a: 1 }' }),
    );
    expect(lines).toContainEqual(
      expect.objectContaining({ component: 'console', event: 'warned', message: 'old part' }),
    );
    await expect.poll(logged).toContainEqual(
      expect.objectContaining({
        ...{ component: 'mcp', event: 'server_said', message: 'the server is not well', data: { server: 'odd' } },
      }),
    );
  });
});

describe.runIf(SLOW)('what no one threw that is known', () => {
  it.each([
    ['an exception', () => server.child.kill('SIGUSR2')],
    ['a rejection', () => server.child.kill('SIGWINCH')],
  ])('ends the process after a line of the log that says so, without a secret: %s', async (_what, cause) => {
    if (server.child.exitCode !== null) await start();
    cause();
    const { code, stdout, stderr } = await server.ended;
    expect(code).toBe(1);
    expect(logged()).toContainEqual(
      expect.objectContaining({
        ...{ level: 'ERROR', component: 'process', event: 'fatal' },
        data: expect.objectContaining({ error: expect.stringContaining('no one knows why') }),
      }),
    );
    expect(stdout + stderr).not.toContain(SECRET);
  });
});
