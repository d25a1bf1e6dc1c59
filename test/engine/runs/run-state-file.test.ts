import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Agent, type ModelRequest, Runner, tool } from '@openai/agents';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { RunStateStore } from '../../../src/engine/standalone/run-state-store.js';
import { functionModel } from '../../../src/models/providers/function-model.js';
import { callItem, textItem } from '../../models/requests.js';

const paid: string[] = [];

const agentOf = (name: string) =>
  new Agent({
    name,
    model: functionModel('payer', ({ input }: ModelRequest) =>
      Array.isArray(input) && input.some((item) => item.type === 'function_call_result')
        ? [textItem('Paid.')]
        : [callItem('pay', { to: 'Ann' })],
    ),
    tools: [
      tool({
        name: 'pay',
        description: 'Pays.',
        parameters: z.object({ to: z.string() }),
        needsApproval: true,
        execute: ({ to }) => {
          paid.push(to);
          return 'done';
        },
      }),
    ],
  });

const agent = agentOf('Payer');
const runner = new Runner({ tracingDisabled: true });
let directory = '';
let path = '';

beforeEach(async () => {
  paid.length = 0;
  directory = await mkdtemp(join(tmpdir(), 'holdfast-state-'));
  path = join(directory, 'deep', 'state.json');
});
afterEach(() => rm(directory, { recursive: true, force: true }));

async function savedStore(): Promise<RunStateStore> {
  const store = new RunStateStore({ agent, path, now: () => 0 });
  await store.save((await runner.run(agent, 'Pay Ann')).state);
  return store;
}

async function tampered(change: (saved: Record<string, unknown>) => void): Promise<RunStateStore> {
  const store = await savedStore();
  const saved: Record<string, unknown> = JSON.parse(await readFile(path, 'utf8'));
  change(saved);
  await writeFile(path, JSON.stringify(saved));
  return store;
}

describe('a run state in a file', () => {
  it('is resumed by another store, approved, to the end', async () => {
    await savedStore();
    const state = await new RunStateStore({ agent: agentOf('Payer'), file_path: path }).load();
    const [interruption] = state.getInterruptions();
    if (interruption === undefined) throw new Error('nothing waits');
    state.approve(interruption);
    expect((await runner.run(agent, state)).finalOutput).toBe('Paid.');
    expect(paid).toEqual(['Ann']);
  });

  it('keeps a decision that was made before it was saved', async () => {
    const store = await savedStore();
    const state = await store.load(agent);
    for (const interruption of state.getInterruptions()) state.reject(interruption);
    await store.save(state);
    expect((await runner.run(agent, await store.load())).finalOutput).toBe('Paid.');
    expect(paid).toEqual([]);
  });

  it('is readable only by its owner, also after it replaced a file that was open to all', async () => {
    const store = await savedStore();
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    await writeFile(path, 'old', { mode: 0o644 });
    await store.save((await runner.run(agent, 'Pay Bob')).state);
    expect((await stat(path)).mode & 0o777).toBe(0o600);
  });

  it('carries its envelope: format, SDK, version, time and digest', async () => {
    await savedStore();
    expect(JSON.parse(await readFile(path, 'utf8'))).toMatchObject({
      holdfast: 1,
      sdk: 'openai-agents-js',
      sdkVersion: expect.stringMatching(/^\d+\.\d+\.\d+$/),
      savedAt: '1970-01-01T00:00:00.000Z',
      digest: expect.stringMatching(/^sha256:[0-9a-f]{64}$/),
      state: { $schemaVersion: expect.any(String) },
    });
  });

  it('is never seen half-written, and nothing is left beside it', async () => {
    const store = await savedStore();
    const states = await Promise.all(['a', 'b', 'c', 'd'].map((to) => runner.run(agent, `Pay ${to}`.repeat(2_000))));
    let reading = true;
    const reader = (async () => {
      while (reading) await store.load();
    })();
    for (let round = 0; round < 5; round++) await Promise.all(states.map(({ state }) => store.save(state)));
    reading = false;
    await reader;
    expect(await readdir(join(directory, 'deep'))).toEqual(['state.json']);
  });

  it('is forgotten, also twice', async () => {
    const store = await savedStore();
    await store.clear();
    await store.clear();
    await expect(store.load()).rejects.toMatchObject({ code: 'state_unknown', message: expect.stringContaining(path) });
  });

  it.each([
    ['nothing', '', /it is empty/],
    ['half a file', '{"holdfast":1,"sdk":"openai-ag', /not JSON/],
    ['another program', '{"hello":1}', /foreign/],
    ['a list', '[]', /foreign/],
    ['a bare state', '{"$schemaVersion":"1.0"}', /bare state/],
    ['the Python library', '{"holdfast":1,"sdk":"openai-agents-python"}', /saved by "openai-agents-python"/],
    ['a newer format', '{"holdfast":2}', /format 2/],
    ['an envelope without a state', '{"holdfast":1,"sdk":"openai-agents-js"}', /fields are missing/],
  ])('is refused as unreadable: %s', async (_what, text, why) => {
    const store = await savedStore();
    await writeFile(path, text);
    await expect(store.load()).rejects.toMatchObject({ code: 'state_unreadable', message: expect.stringMatching(why) });
  });

  it('is refused when it was changed', async () => {
    const store = await tampered((saved) => {
      saved['state'] = { ...Object(saved['state']), maxTurns: 999 };
    });
    await expect(store.load()).rejects.toMatchObject({
      code: 'state_unreadable',
      message: expect.stringMatching(/digest/),
    });
  });

  it('is refused with both versions when the SDK refuses it', async () => {
    const store = await savedStore();
    await store.save({ toJSON: () => ({ $schemaVersion: '99.0' }) });
    await expect(store.load()).rejects.toMatchObject({
      code: 'state_unreadable',
      message: expect.stringMatching(/saved by version \d.*read by \d/),
    });
  });

  it('is refused for an agent that it does not belong to', async () => {
    const store = await savedStore();
    await expect(store.load(agentOf('Someone else'))).rejects.toMatchObject({ code: 'state_unreadable' });
  });

  it('says what stands in the way', async () => {
    const store = new RunStateStore({ agent, path: directory });
    await expect(store.load()).rejects.toMatchObject({
      code: 'state_unreadable',
      message: expect.stringContaining('EISDIR'),
    });
  });

  it('needs exactly one place', () => {
    expect(() => new RunStateStore({ agent })).toThrow(/either a path or a backend/);
  });

  it('is kept by any backend', async () => {
    let kept: string | null = null;
    const backend = {
      place: 'memory',
      read: async () => kept,
      write: async (text: string) => {
        kept = text;
      },
      remove: async () => {
        kept = null;
      },
    };
    const store = new RunStateStore({ agent, backend });
    await store.save((await runner.run(agent, 'Pay Ann')).state);
    expect((await store.load()).getInterruptions()).toHaveLength(1);
    await store.clear();
    await expect(store.load()).rejects.toMatchObject({ code: 'state_unknown' });
  });
});
