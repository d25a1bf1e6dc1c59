import { existsSync, readFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join, relative } from 'node:path';
import type { ModelRequest } from '@openai/agents';
import { expect, vi } from 'vitest';
import { type Engine, LOCAL_CALLER } from '../../src/index.js';
import { BUSYBOX, DOCKER_HOST, hasDocker } from '../harness/docker.js';
import { ADMIN, decideAndRest, eventsOf, pendingOf, restOf, runToRest, type TestEngine } from '../harness/engine.js';
import { call, resultsIn, say } from '../harness/script.js';
import { mcpWorld } from './mcp-world.js';
import { pageText, ROOT } from './pages.js';

/** What happens when the examples of a page run. */
export interface PageRun {
  readonly page: string;
  /** What the examples need of the world beside a model. */
  readonly world?: (
    folder: string,
  ) => Promise<{ readonly inPlace?: (code: string) => string; readonly end: () => unknown }>;
  /** What OpenAI's models say. */
  readonly model?: (request: ModelRequest) => (ReturnType<typeof call> | ReturnType<typeof say>)[];
  readonly happens: (
    t: TestEngine,
    place: { readonly folder: string; readonly load: (file: string) => Promise<unknown> },
  ) => Promise<void>;
}

const has = ({ tools }: ModelRequest, name: string) => tools.some((tool) => tool.name === name);
/** What was told of a tool, by the id that its call got from its name. */
const told = ({ input }: ModelRequest, name: string) =>
  resultsIn(input).find(({ callId }) => callId.startsWith(`call_${name}`))?.text;

const checked = async (engine: Engine, id: string) =>
  (await eventsOf(engine, id)).flatMap(({ kind, data }) =>
    kind === 'call.checked' ? [data as { tool: string; effect: string; decision: string; checks: unknown }] : [],
  );

/** Waits until a run that waits for others is over. */
const over = async (engine: Engine, id: string) => {
  await vi.waitFor(async () => expect(await engine.getRun(id, ADMIN)).not.toMatchObject({ status: 'paused' }), 20_000);
  return restOf(engine, id);
};

const agents: PageRun = {
  page: 'docs/agents/README.md',
  model: (request) => {
    if (has(request, 'look_up')) {
      const found = told(request, 'look_up');
      return [found === undefined ? call('look_up', { order: '7' }) : say(found)];
    }
    if (has(request, 'refund')) {
      const refunded = told(request, 'refund');
      return [refunded === undefined ? call('refund', { order: '7' }) : say(refunded)];
    }
    const found = told(request, 'ask_clerk');
    return [found === undefined ? call('ask_clerk', { input: 'order 7?' }) : call('transfer_to_cashier', {})];
  },
  happens: async (t) => {
    const said = vi.spyOn(console, 'log').mockImplementation(() => {});
    const paused = await runToRest(t.engine, 'desk', 'I want my money back for order 7.');
    expect(said.mock.calls).toEqual([['a refund is wanted']]);
    said.mockRestore();
    expect(await pendingOf(t.engine, paused.id, 'refund')).toMatchObject({
      agent: 'cashier',
      arguments: { order: '7' },
    });
    expect((await checked(t.engine, paused.id)).map(({ tool, effect }) => [tool, effect])).toEqual([
      ['ask_clerk', 'pure'],
      ['look_up', 'unsafe'],
      ['refund', 'unsafe'],
    ]);
    await t.restart();
    const done = await decideAndRest(t.engine, paused.id, { verdict: 'approve' });
    expect(done).toMatchObject({ status: 'completed', output: 'refunded 7' });
    expect(await runToRest(t.engine, 'desk', 'Tell me a joke.')).toMatchObject({
      ...{ status: 'failed', error: { code: 'guardrail_tripped' }, turns: 0 },
    });
  },
};

const approvals: PageRun = {
  page: 'docs/approvals/README.md',
  happens: async (t, { load }) => {
    const { decide } = (await load('decide.ts')) as { decide: (engine: Engine) => Promise<unknown> };
    expect(await decide(t.engine)).toMatchObject([
      'completed',
      [{ scope: ['bank:transfer:alice'], exact: true, actor: 'bea', revokedAt: null }],
    ]);
    const [run] = (await t.engine.listRuns({ limit: 1 }, LOCAL_CALLER)).items;
    const { steps } = await t.engine.getTrajectory(run?.id ?? '', LOCAL_CALLER);
    expect(steps.flatMap(({ observation }) => observation.map(({ outcome }) => outcome))).toEqual(
      [300, 501, 502].map((transferred) => ({ type: 'output', output: { transferred } })),
    );
  },
};

const waiting: PageRun = {
  page: 'docs/approvals/waiting.md',
  model: (request) => {
    const results = resultsIn(request.input);
    if (results.length > 0) return [say(results.map(({ text }) => text).join(' | '))];
    return [
      call('order', { part: '7' }),
      call('ask_human', { question: 'Which colour?', choices: ['red', 'blue'] }),
      call('sleep', { seconds: 1 }),
      call('wait_for_event', { name: 'lorry.here' }),
    ];
  },
  happens: async (t) => {
    const { engine } = t;
    const { id, status } = await runToRest(engine, 'buyer');
    expect(status).toBe('paused');
    const kinds = async () =>
      (await t.engine.listInterruptions({ status: 'pending', runId: id, limit: 10 }, ADMIN)).items.map(
        (one) => one.kind,
      );
    await vi.waitFor(async () => expect(await kinds()).not.toContain('timer'), 20_000);
    expect((await kinds()).sort()).toEqual(['event', 'event', 'question']);
    await t.restart();
    // The event that the page sends, as it is there.
    const [, sent = ''] = /events\/invoice\.paid [\s\S]*?-d '(.*?)'/.exec(pageText('docs/approvals/waiting.md')) ?? [];
    const emitted = await t.engine.emitEvent('invoice.paid', JSON.parse(sent), ADMIN);
    expect(emitted).toMatchObject({ status: 'delivered', delivered: 1, key: 'order-7' });
    await t.engine.emitEvent('lorry.here', { payload: 'at the gate' }, ADMIN);
    const done = await decideAndRest(t.engine, id, { verdict: 'answer', value: 'blue' });
    expect(done).toMatchObject({
      status: 'completed',
      output: '{"cents":1250,"order":"order-7"} | blue | 1 seconds have passed. | at the gate',
    });
  },
};

const subAgents: PageRun = {
  page: 'docs/agents/sub-agents.md',
  // The folder of the page is one of the test.
  world: async (folder) => {
    await mkdir(join(folder, 'report'), { recursive: true });
    return { inPlace: (code) => code.replaceAll('/srv', folder), end: () => {} };
  },
  model: (request) => {
    const text = JSON.stringify(request.input);
    if (has(request, 'write_chapter')) {
      const written = told(request, 'write_chapter');
      const outline = /in (\S+?)\\?"/.exec(text)?.[1] ?? '';
      return [written === undefined ? call('write_chapter', { title: 'One', outline }) : say(written)];
    }
    const [, folder = ''] = /\\"One\\" to (\S+?)\. /.exec(text) ?? [];
    const [, name = ''] = /\. (\S+?)"/.exec(text) ?? [];
    const written = told(request, 'write_file');
    return [written === undefined ? call('write_file', { path: join(folder, name), content: 'One.' }) : say(written)];
  },
  happens: async (t, { folder }) => {
    const { engine } = t;
    const { id } = await engine.startRun({ agent: 'editor', input: 'in one.md' }, ADMIN);
    const writerOf = async (run: string) => {
      await restOf(engine, run);
      const [writer] = (await engine.listRuns({ parent: run, limit: 5 }, ADMIN)).items;
      return restOf(engine, writer?.id ?? '');
    };
    const writer = await writerOf(id);
    expect(writer).toMatchObject({ agent: 'writer', status: 'paused', parentRunId: id });
    const file = join(folder, 'report', 'one.md');
    expect(existsSync(file)).toBe(false);
    await decideAndRest(engine, writer.id, { verdict: 'approve' });
    expect(await over(engine, id)).toMatchObject({ status: 'completed', output: '{"sizeBytes":4}' });
    expect(readFileSync(file, 'utf8')).toBe('One.');
    // Its own agent may write everywhere below; what it was lent does not reach there.
    const outside = await engine.startRun({ agent: 'editor', input: 'in ../other.md' }, ADMIN);
    const refused = await writerOf(outside.id);
    expect(refused).toMatchObject({ status: 'failed', error: { code: 'capability_denied' } });
    expect((await over(engine, outside.id)).output).toMatch(
      /write_chapter failed: its run \S+ failed with capability_denied/,
    );
    expect(existsSync(join(folder, 'other.md'))).toBe(false);
  },
};

const mcp: PageRun = {
  page: 'docs/agents/mcp.md',
  world: mcpWorld,
  model: (request) => {
    const results = resultsIn(request.input);
    const [, path = ''] = /in (\S+?)"/.exec(JSON.stringify(request.input)) ?? [];
    const calls = JSON.stringify(request.input).includes('delete')
      ? [call('delete_file', { path })]
      : [
          call('read_text_file', { path: 'package.json' }),
          call('create_ticket', { title: 'Paint' }),
          call('write_file', { path, content: 'noted' }),
        ];
    return results.length > 0 ? [say(results.map(({ text }) => text.slice(0, 60)).join(' | '))] : calls;
  },
  happens: async (t, { folder }) => {
    const file = join(folder, 'note.txt');
    const paused = await runToRest(t.engine, 'clerk', `in ${relative(ROOT, file)}`);
    expect(await pendingOf(t.engine, paused.id, 'write_file')).toMatchObject({ kind: 'approval' });
    expect(
      (await checked(t.engine, paused.id)).map(({ effect, decision, checks }) => [effect, decision, checks]),
    ).toEqual([
      ['pure', 'allow', [expect.objectContaining({ capability: 'mcp:call:files/read_text_file' })]],
      ['unsafe', 'allow', [expect.objectContaining({ capability: 'mcp:call:tickets/create_ticket' })]],
      ['unsafe', 'ask', [expect.objectContaining({ capability: 'mcp:call:files/write_file' })]],
    ]);
    expect(existsSync(file)).toBe(false);
    const done = await decideAndRest(t.engine, paused.id, { verdict: 'approve' });
    expect(done).toMatchObject({ status: 'completed', output: expect.stringContaining('ticket Paint') });
    expect(readFileSync(file, 'utf8')).toBe('noted');
    expect(await runToRest(t.engine, 'clerk', `delete in ${relative(ROOT, file)}`)).toMatchObject({
      ...{ status: 'failed', error: { code: 'capability_denied' } },
    });
    expect(existsSync(file)).toBe(true);
  },
};

const scaffolds: PageRun = {
  page: 'docs/containers/scaffolds.md',
  world: async () => ({
    inPlace: (code) => code.replace("'python:3.13-slim'", `'${BUSYBOX}'`),
    end: () => {},
  }),
  model: (request) => {
    if (has(request, 'search')) {
      const found = told(request, 'search');
      return [found === undefined ? call('search', { words: 'tea' }) : call('answer', { text: found })];
    }
    const ran = told(request, 'bash');
    return [ran === undefined ? call('bash', { command: 'echo hello' }) : say(ran)];
  },
  happens: async (t) => {
    const read = await runToRest(t.engine, 'reader');
    expect(read).toMatchObject({ status: 'completed', output: 'On tea: page 7.\nMore on tea: page 12.' });
    expect(await t.engine.getTrajectory(read.id, ADMIN)).toMatchObject({ scaffold: 'librarian' });
    if (!hasDocker) return;
    await t.restart({ dockerHost: DOCKER_HOST });
    expect(await runToRest(t.engine, 'coder')).toMatchObject({
      ...{ status: 'completed', output: expect.stringContaining('hello') },
    });
  },
};

export const RUNS: readonly PageRun[] = [agents, approvals, mcp, scaffolds, subAgents, waiting];
