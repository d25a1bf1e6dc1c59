import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Agent, MCPServerStreamableHttp, run as runPlainly } from '@openai/agents';
import { afterAll, beforeAll, beforeEach, expect, it, vi } from 'vitest';
import { z } from 'zod';
import { defineAgent, defineTool, type EngineConfig, functionModel } from '../../../src/index.js';
import { describeEachDatabase } from '../../harness/database.js';
import { ADMIN, decideAndRest, engineFor, runToRest } from '../../harness/engine.js';
import { call, type Output, outputAfter, resultsIn, say } from '../../harness/script.js';
import { SLOW } from '../../harness/slow.js';
import { effectsIn, serveHttp, testServer } from '../../mcp/server.js';

/** What bounds a replay that asks the models, and what calls of every kind get in it. */

const dir = mkdtempSync(join(tmpdir(), 'holdfast-live-'));
afterAll(() => rmSync(dir, { recursive: true, force: true }));
const file = join(dir, 'effects');

/** How often models, tools and guardrails were asked, by name, and what a model was told of its calls last. */
let heard: Record<string, number> = {};
let told: Record<string, string> = {};
const hear = (name: string): void => {
  heard[name] = (heard[name] ?? 0) + 1;
};
/** Whether models never answer. */
let silent = false;

const model = (name: string, outputs: readonly Output[]) =>
  functionModel(name, ({ input }) => {
    hear(name);
    for (const { callId, text } of resultsIn(input)) told[callId] = text;
    return silent ? new Promise<Output>(() => {}) : outputAfter(outputs, input);
  });

const input = z.object({ n: z.number() });
const tool = (name: string, changes: object = {}) =>
  defineTool({
    ...{ name, description: `Does ${name}.`, input, output: z.string(), effect: 'unsafe' },
    execute: ({ n }) => {
      hear(name);
      return `${name} ${n}`;
    },
    ...changes,
  });

const says = (behavior: object) => async () => {
  hear('guardrail');
  return { behavior } as never;
};
const guarded = {
  ...tool('guarded', { effect: 'pure' }),
  inputGuardrails: [{ name: 'in', run: says({ type: 'allow' }) }],
  outputGuardrails: [{ name: 'out', run: says({ type: 'rejectContent', message: 'kept back' }) }],
};
/** Another number than was recorded, once that is wanted. */
let guardedBy = 1;

const helper = new Agent({ name: 'helper', model: model('helper', []) });
const judge = new Agent({ name: 'judge', model: 'mine/judge' });
const judged = async () => ({ tripwireTriggered: false, outputInfo: (await runPlainly(judge, 'fine?')).finalOutput });

let http: Awaited<ReturnType<typeof serveHttp>>;
const servers: MCPServerStreamableHttp[] = [];

const agent = (name: string, outputs: readonly Output[], parts: object = {}, more: object = {}) =>
  defineAgent({
    agent: new Agent({ name, model: model(name, outputs), ...parts }),
    grants: ['tool:call:*', 'mcp:call:*'],
    ...more,
  });
const config = (): EngineConfig => ({
  agents: [
    agent('idle', [], {}, { maxDurationMs: 400 }),
    agent('talker', [[say('Hello.')]]),
    agent('wirer', [[call('wire', { n: 3 }, 'w')]], { tools: [tool('wire', { approval: true })] }),
    agent('asker', [[call('help', { input: 'go' }, 'h')]], {
      tools: [helper.asTool({ toolName: 'help', toolDescription: 'Helps.', needsApproval: true })],
    }),
    agent('careful', [], {
      tools: [guarded],
      model: functionModel('careful', ({ input }) => {
        for (const { callId, text } of resultsIn(input)) told[callId] = text;
        return outputAfter([[call('guarded', { n: guardedBy }, 'g')]], input);
      }),
    }),
    agent('judged', [[say('Fine.')]], {
      inputGuardrails: [{ name: 'judge', runInParallel: false, execute: judged }],
    }),
    agent('reader', [[call('read', { path: 'a.txt' }, 'r')], [call('write', { path: 'a.txt' }, 's')]], {
      mcpServers: servers,
    }),
  ],
  providers: { mine: { getModel: async () => model('judge', [[say('yes')]]) } },
  prices: { 'mine/judge': { inputPerMillion: '1', outputPerMillion: '1' }, 'object/judged': 'free' },
});

describeEachDatabase('what ends a replay that asks the models', (kind) => {
  beforeAll(async () => {
    http = await serveHttp(() => testServer(file, { description: 'Writes.' }));
    servers.splice(0, servers.length, new MCPServerStreamableHttp({ name: 'web', url: http.url }));
  });
  const t = engineFor(kind, config());
  beforeEach(() => {
    heard = {};
    told = {};
    silent = false;
    guardedBy = 1;
  });

  const live = (id: string, request: object = {}, signal?: AbortSignal) =>
    t.engine.replayRun(id, { liveModel: true, ...request }, ADMIN, signal === undefined ? {} : { signal });
  const SAME = { result: 'same', whole: true, differences: [] };

  it.runIf(SLOW)('is the time of the run, also where a model never answers', async () => {
    silent = true;
    const run = await runToRest(t.engine, 'idle');
    expect(run).toMatchObject({ status: 'failed', error: { code: 'limit_wall_time' } });
    const { live: both } = await live(run.id);
    expect(both?.stopped).toMatchObject({ why: 'limit_time', text: expect.stringContaining('400 ms (maxDurationMs)') });
    expect(both?.now).toMatchObject({ turns: 0, end: 'stopped' });
  });

  it('is the one that asked for it, and the engine when it stops; four are at work at once', async () => {
    const { id } = await runToRest(t.engine, 'talker');
    silent = true;
    heard = {};
    const gone = new AbortController();
    const four = [1, 2, 3, 4].map(() => live(id, {}, gone.signal));
    const ends = Promise.allSettled(four);
    await vi.waitFor(() => expect(heard).toEqual({ talker: 4 }), 20_000);
    await expect(live(id)).rejects.toMatchObject({ code: 'rate_limited' });
    expect(await t.engine.replayRun(id, {}, ADMIN)).toMatchObject(SAME);
    gone.abort(new Error('no one waits'));
    const nobody = { status: 'rejected', reason: new Error('no one waits') };
    expect(await ends).toEqual([nobody, nobody, nobody, nobody]);
    await expect(live(id, {}, gone.signal)).rejects.toThrow('no one waits');
    const stopped = Promise.allSettled([live(id)]);
    await vi.waitFor(() => expect(heard).toEqual({ talker: 5 }), 20_000);
    await t.restart();
    expect(await stopped).toMatchObject([{ reason: { code: 'engine_not_running' } }]);
    silent = false;
    expect(await live(id)).toMatchObject(SAME);
  });

  it('gives a call the result of the arguments that an approver has put in place', async () => {
    const paused = await runToRest(t.engine, 'wirer');
    const run = await decideAndRest(t.engine, paused.id, { verdict: 'approve', arguments: { n: 30 } });
    expect(run).toMatchObject({ status: 'completed', output: 'w=wire 30' });
    heard = {};
    told = {};
    expect(await live(run.id)).toMatchObject({ ...SAME, live: { now: { output: 'w=wire 30' } } });
    expect({ heard, told }).toEqual({ heard: { wirer: 2 }, told: { w: 'wire 30' } });
  });

  it('leaves an agent behind a tool alone that was rejected', async () => {
    const paused = await runToRest(t.engine, 'asker');
    const run = await decideAndRest(t.engine, paused.id, { verdict: 'reject', message: 'Not now.' });
    expect(run).toMatchObject({ status: 'completed', output: 'h=Not now.' });
    heard = {};
    expect(await live(run.id)).toMatchObject(SAME);
    expect(heard).toEqual({ asker: 2 });
  });

  it('takes what guardrails of a tool said as part of a recorded call, and hears them of one that is executed', async () => {
    const run = await runToRest(t.engine, 'careful');
    expect(run.output).toBe('g=kept back');
    expect(heard).toEqual({ guarded: 1, guardrail: 2 });
    expect(await live(run.id)).toMatchObject(SAME);
    expect(heard).toEqual({ guarded: 1, guardrail: 2 });
    guardedBy = 2;
    const { live: both, executed } = await live(run.id, { executePure: true });
    expect({ executed, output: both?.now.output }).toEqual({ executed: 1, output: 'g=kept back' });
    expect(heard).toEqual({ guarded: 2, guardrail: 4 });
  });

  it('is the money, also for models that callbacks ask, and a price that is not known', async () => {
    const { id } = await runToRest(t.engine, 'judged');
    heard = {};
    const paid = await live(id, { maxUsd: '1' });
    expect(paid).toMatchObject({ ...SAME, live: { stopped: null } });
    expect(Number(paid.live?.now.costUsd)).toBeGreaterThan(0);
    expect(heard).toEqual({ judge: 1, judged: 1 });
    const short = await live(id, { maxUsd: '0.000000001' });
    expect(short.live).toMatchObject({ stopped: { why: 'max_usd' }, now: { turns: 0, costUsd: '0', end: 'stopped' } });
    const talker = await runToRest(t.engine, 'talker');
    const unknown = await live(talker.id, { maxUsd: '1' });
    expect(unknown.live?.stopped).toMatchObject({ why: 'price_unknown', text: expect.stringContaining('`prices`') });
    expect(heard).toEqual({ judge: 1, judged: 1, talker: 1 });
  });

  it('is an MCP server that the run was given nothing of; others are not reached', async () => {
    const run = await runToRest(t.engine, 'reader');
    expect(run).toMatchObject({ status: 'completed' });
    const done = effectsIn(file);
    expect(done.slice(-2)).toEqual(['read a.txt', 'write a.txt']);
    await http.close();
    expect(await live(run.id)).toMatchObject(SAME);
    servers.push(new MCPServerStreamableHttp({ name: 'other', url: http.url }));
    const { live: both, whole } = await live(run.id);
    expect(whole).toBe(false);
    expect(both?.stopped).toMatchObject({ why: 'server_not_recorded', text: expect.stringContaining('server other') });
    expect(effectsIn(file)).toEqual(done);
  });
});
