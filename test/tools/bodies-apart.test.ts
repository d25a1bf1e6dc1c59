import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { HoldfastError } from '../../src/core/errors/errors.js';
import { BodyLost } from '../../src/core/runs/call.js';
import { seededRandom } from '../../src/core/seeded-random.js';
import { defineTool, type IsolatedToolDeclaration } from '../../src/index.js';
import { toolSpecOf } from '../../src/tools/define/define-tool.js';
import { isolatedPool } from '../../src/tools/isolated/isolated-pool.js';
import { SLOW } from '../harness/slow.js';
import { callTool, contextWith } from './tool-context.js';

/** Bodies of tools in threads and processes of their own, through the whole way there and back. */

const BODIES = new URL('./bodies/apart.mjs', import.meta.url);
const scratch = mkdtempSync(join(tmpdir(), 'holdfast-bodies-'));
const lines: string[] = [];
let end = isolatedPool.keepTo({ atMost: 2, said: (tool, line) => void lines.push(`${tool}: ${line}`) });
afterAll(async () => {
  await end();
  rmSync(scratch, { recursive: true });
});

type Given = Partial<IsolatedToolDeclaration<Record<string, unknown>, unknown>>;

describe.runIf(SLOW).each(['thread', 'process'] as const)('a body in a %s', (isolation) => {
  const tool = (name: string, given: Given = {}) =>
    toolSpecOf(
      defineTool({
        ...{ name: `${name}_${isolation}`, description: 'Computes.', input: z.looseObject({}), output: z.any() },
        ...{ module: BODIES, export: name, isolation, ...given },
      }),
    );
  const run = (name: string, input: object = {}, given: Given = {}) =>
    callTool(tool(name, given), input, contextWith(['tool:call:*']));
  const failure = async (call: Promise<unknown>): Promise<unknown> =>
    call.then(
      () => 'it did not fail',
      (error: unknown) => error,
    );

  beforeEach(() => {
    lines.length = 0;
  });

  it('gets its input and its context, without what cannot cross', async () => {
    expect(await run('execute', { text: 'a' })).toEqual({ text: 'A' });
    const random = seededRandom('run-1:call-1');
    expect(await run('look', {}, { env: { CITY: 'Bern' } })).toMatchObject({
      ...{ runId: 'run-1', callId: 'call-1', tenant: 'default', agent: 'tester', idempotencyKey: 'run-1:call-1' },
      given: ['agent', 'callId', 'idempotencyKey', 'now', 'random', 'runId', 'signal', 'tenant'],
      random: [random(), random()],
    });
  });

  it('sees no environment but the stated one', async () => {
    const { env } = z
      .object({ env: z.record(z.string(), z.string()) })
      .parse(await run('look', {}, { env: { CITY: 'Bern' } }));
    const { NODE_CHANNEL_FD: _fd, NODE_CHANNEL_SERIALIZATION_MODE: _mode, ...stated } = env;
    expect(stated).toEqual({ CITY: 'Bern' });
  });

  it('is loaded from TypeScript as well', async () => {
    const typed = { module: new URL('./bodies/typed.ts', import.meta.url), export: 'execute' };
    expect(await run('typed', { n: 21 }, typed)).toEqual({ doubled: 42, key: 'run-1:call-1' });
  });

  it('works again where the call before it of the same tool did, and beside others within the bound', async () => {
    const place = z.object({ pid: z.int(), threadId: z.int(), calls: z.int() });
    const spec = tool('look');
    const call = async () => place.parse(await callTool(spec, {}, contextWith(['tool:call:*'])));
    const first = await call();
    expect(first.calls).toBe(1);
    expect(await call()).toEqual({ ...first, calls: 2 });
    expect(first.pid === process.pid).toBe(isolation === 'thread');
    const many = await Promise.all(Array.from({ length: 6 }, call));
    const places = new Set(many.map(({ pid, threadId }) => `${pid}:${threadId}`));
    expect(places.size).toBeLessThanOrEqual(2);
    expect(many).toHaveLength(6);
  });

  it('says what it threw, and that what it returned cannot be sent', async () => {
    expect(await failure(run('failing'))).toMatchObject({ message: 'the file is not one' });
    expect(await failure(run('odd'))).toMatchObject({ message: expect.stringContaining('cannot be sent') });
    expect(await failure(run('waits'))).toMatchObject({ message: expect.stringContaining('cannot wait') });
    expect(await failure(run('missing'))).toMatchObject({
      message: expect.stringContaining('exports no function missing'),
    });
    const large = await failure(run('large', {}, { maxOutputBytes: 1000 }));
    expect(large).toBeInstanceOf(HoldfastError);
    expect(large).toMatchObject({ code: 'payload_too_large' });
  });

  it.each(['late', 'rejects'])('that threw where no one waited for it is lost with its text: %s', async (name) => {
    const error = await failure(run(name));
    expect(error).toBeInstanceOf(BodyLost);
    expect(error).toMatchObject({
      code: 'tool_failed',
      message: expect.stringMatching(/the timer is angry|nobody listens/),
    });
  });

  it('does not fail the next call by what an earlier one left behind', async () => {
    const spoiling = tool('spoils');
    expect(await callTool(spoiling, {}, contextWith(['tool:call:*']))).toBe('done');
    expect(await callTool(spoiling, {}, contextWith(['tool:call:*']))).toBe('done');
    await expect.poll(() => lines.join('\n')).toContain('threw after its call had ended: much too late');
  });

  it('may say anything on the channel of its thread or process, and this process goes on', async () => {
    const [thrown, speaking] = [[] as unknown[], tool('speaks')];
    const note = (error: unknown): void => void thrown.push(error);
    process.prependListener('uncaughtException', note);
    expect(await callTool(speaking, {}, contextWith(['tool:call:*']))).toBe('spoken');
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect(await callTool(speaking, {}, contextWith(['tool:call:*']))).toBe('spoken');
    process.removeListener('uncaughtException', note);
    expect(thrown).toEqual([]);
  });

  it('that ends its thread or process is lost, and no one else', async () => {
    const beside = run('execute', { text: 'b' });
    expect(await failure(run('exits'))).toMatchObject({
      code: 'tool_exited',
      message: expect.stringContaining('code 3'),
    });
    expect(await beside).toEqual({ text: 'B' });
  });

  it('that takes more memory than it may is ended by name', async () => {
    expect(await failure(run('heap', {}, { limits: { memoryMb: 128 } }))).toMatchObject({
      ...{ code: 'tool_memory', message: expect.stringContaining('128 MiB') },
    });
  });

  it('that computes for longer than it may is ended by name', async () => {
    expect(await failure(run('loop', {}, { limits: { cpuSeconds: 0.2 } }))).toMatchObject({
      ...{ code: 'tool_cpu', message: expect.stringContaining('0.2 s') },
    });
  });

  it('that hears its signal may end by itself; one that does not is ended', async () => {
    const stop = new AbortController();
    const context = contextWith([], { signal: stop.signal });
    const begun = ['patient', 'loop'].map(async (name) => {
      const place = await tool(name).enter?.(new AbortController().signal);
      const ended = place?.run({}, context).finally(() => place.release());
      return { ended: ended?.catch((error: unknown) => error) };
    });
    const [patient, loop] = await Promise.all(begun);
    stop.abort(new Error('enough'));
    expect(await patient?.ended).toBe('stopped');
    expect(await loop?.ended).toMatchObject({ code: 'tool_exited' });
  });

  it('has its words heard line by line', async () => {
    expect(await run('writes', { text: 'hello' })).toBe('written');
    await expect.poll(() => lines).toContain(`writes_${isolation}: hello on standard error`);
    expect(lines).toContain(`writes_${isolation}: {"level":"fatal","says":"hello"}`);
  });
});

it.runIf(SLOW)('a process is held to all that it has in memory, also what is no heap', async () => {
  const spec = toolSpecOf(
    defineTool({
      ...{ name: 'buffers', description: 'Fills buffers.', input: z.object({}), output: z.any() },
      ...{ isolation: 'process', module: BODIES, export: 'buffers', limits: { memoryMb: 160 } },
    }),
  );
  await expect(callTool(spec, {}, contextWith(['tool:call:*']))).rejects.toMatchObject({ code: 'tool_memory' });
});

it.runIf(SLOW)('who waits for a place and is stopped leaves the queue', async () => {
  const looping = toolSpecOf(
    defineTool({
      ...{ name: 'looping', description: 'Loops.', input: z.object({}), output: z.any() },
      ...{ isolation: 'thread', module: BODIES, export: 'loop' },
    }),
  );
  const [none, waits] = [new AbortController(), new AbortController()];
  const held = await Promise.all([looping, looping].map((spec) => spec.enter?.(none.signal)));
  const waiting = looping.enter?.(waits.signal);
  waits.abort(new Error('no longer'));
  await expect(waiting).rejects.toThrow('no longer');
  for (const place of held) place?.release();
});

it.runIf(SLOW)('closing ends what works, and answers none of it', async () => {
  const looping = toolSpecOf(
    defineTool({
      ...{ name: 'looping', description: 'Loops.', input: z.object({ file: z.string() }), output: z.any() },
      ...{ isolation: 'process', module: BODIES, export: 'loop' },
    }),
  );
  const context = contextWith([]);
  const file = join(scratch, 'pid');
  const place = await looping.enter?.(context.signal);
  const answers: unknown[] = [];
  void place?.run({ file }, context).then(...[0, 1].map(() => (answer: unknown) => answers.push(answer)));
  await expect.poll(() => existsSync(file) && readFileSync(file, 'utf8')).toMatch(/^\d+\n$/);
  const pid = Number(readFileSync(file, 'utf8'));
  await end();
  expect(() => process.kill(pid, 0)).toThrow('ESRCH');
  end = isolatedPool.keepTo({ atMost: 2, said: () => {} });
  expect(answers).toEqual([]);
});

const isThere = (pid: number): boolean => {
  try {
    // A process that has ended and that no one has asked for is not there.
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
};

it.runIf(SLOW).each(['loop', 'idle'])('a parent that is killed leaves nothing behind: %s', async (what) => {
  const file = join(scratch, what);
  const pool = new URL('../../dist/src/tools/isolated/isolated-pool.js', import.meta.url).href;
  const isolated = { isolation: 'process', module: BODIES.href, memoryMb: 256, cpuSeconds: null, env: {} };
  const name = what === 'loop' ? 'family' : 'parent';
  const program = `
    import { isolatedPool } from ${JSON.stringify(pool)};
    const { signal } = new AbortController();
    const spec = { name: 'family', maxOutputBytes: 1000, isolated: ${JSON.stringify({ ...isolated, export: name })} };
    const place = await isolatedPool.enter(spec, signal);
    await place.run({ file: ${JSON.stringify(file)} }, { signal, now: Date.now });
    place.release();
    setInterval(() => {}, 1000);`;
  const parent = spawn(process.execPath, ['--input-type=module', '-e', program], { stdio: 'inherit' });
  await expect.poll(() => existsSync(file) && readFileSync(file, 'utf8')).toMatch(/^\[\d+,\d+\]$/);
  const pids = z.array(z.int()).parse(JSON.parse(readFileSync(file, 'utf8')));
  expect(pids.map(isThere)).toEqual([true, true]);
  parent.kill('SIGKILL');
  await expect.poll(() => pids.map(isThere)).toEqual([false, false]);
});
