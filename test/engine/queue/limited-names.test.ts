import { Agent, type ModelProvider } from '@openai/agents';
import { expect, it } from 'vitest';
import { createEngine, defineAgent, functionModel } from '../../../src/index.js';
import { describeEachDatabase } from '../../harness/database.js';
import { ADMIN, engineFor, restOf } from '../../harness/engine.js';
import { say } from '../../harness/script.js';
import { SLOW } from '../../harness/slow.js';

/** Limits of images and of models, of all agents together. Each model works until it is let go. */

const working = new Set<string>();
const done = new Map<string, () => void>();
const seen: string[] = [];
const most = new Map<string, number>();
const provider: ModelProvider = {
  getModel: (name = '') =>
    functionModel(name, async () => {
      const one = `${name} ${seen.length}`;
      seen.push(name);
      working.add(one);
      most.set(
        name,
        Math.max(most.get(name) ?? 0, [...working].filter((other) => other.startsWith(`${name} `)).length),
      );
      await new Promise<void>((resolve) => done.set(one, resolve));
      working.delete(one);
      // No container is needed: what fails here does not come to its verification.
      if (name === 'busy') throw Object.assign(new Error('no such key'), { status: 401 });
      return [say('done')];
    }),
};
const letGo = (): void => {
  for (const [one, resolve] of done) {
    done.delete(one);
    resolve();
  }
};
const agent = (name: string, model: string) => defineAgent({ agent: new Agent({ name, model: `fake/${model}` }) });
const AGENTS = [agent('one', 'slow'), agent('two', 'slow'), agent('other', 'quick'), agent('tasked', 'busy')];
const taskIn = (image: string) => ({
  ...{
    name: `add-up-${image.split(':')[0]}`,
    version: '1.0.0',
    category: 'math',
    difficulty: 'easy' as const,
    instruction: 'Add up.',
  },
  environment: { image },
  verification: { tests: [{ name: 'adds', command: 'true' }] },
});

describeEachDatabase('limits of images and models', (kind) => {
  const t = engineFor(kind, {
    agents: AGENTS,
    providers: { fake: provider },
    concurrency: 8,
    models: { 'fake/slow': { concurrency: 1 } },
    images: { 'one:1': { concurrency: 2 } },
    retries: { most: 0 },
  });
  const start = async (name: string) => (await t.engine.startRun({ agent: name, input: 'go' }, ADMIN)).id;
  const submit = async (image: string, own?: string) =>
    (
      await t.engine.submitTask(
        { task: taskIn(image), agent: 'tasked', ...(own === undefined ? {} : { image: own }) },
        ADMIN,
      )
    ).runId;
  const statusOf = async (id: string) => (await t.engine.getRun(id, ADMIN)).status;
  const rest = async (ids: readonly string[]) => {
    const freeing = setInterval(letGo, 20);
    try {
      return await Promise.all(ids.map(async (id) => (await restOf(t.engine, id)).status));
    } finally {
      clearInterval(freeing);
    }
  };

  it.runIf(SLOW)('of a model hold for all agents that have it, and others pass', async () => {
    const limited = [await start('one'), await start('two'), await start('one')];
    const free = [await start('other'), await start('other')];
    await expect
      .poll(() => [...working].map((one) => one.split(' ')[0]).toSorted())
      .toEqual(['quick', 'quick', 'slow']);
    expect(await rest([...limited, ...free])).toEqual(Array.from({ length: 5 }, () => 'completed'));
    expect(most.get('slow')).toBe(1);
    expect(most.get('quick')).toBe(2);
  });

  it.runIf(SLOW)('of an image hold for what the task has or was submitted with', async () => {
    most.clear();
    const limited = [await submit('one:1'), await submit('none:1', 'one:1'), await submit('one:1')];
    const free = await submit('one:1', 'two:1');
    await expect.poll(() => working.size).toBe(3);
    expect(await statusOf(free)).toBe('running');
    const statuses = await Promise.all(limited.map(statusOf));
    expect(statuses.filter((status) => status === 'running')).toHaveLength(2);
    expect(await rest([...limited, free])).toEqual(Array.from({ length: 4 }, () => 'failed'));
    expect(most.get('busy')).toBeLessThanOrEqual(3);
  });

  it.runIf(SLOW)('that are new count what waits already', async () => {
    await t.restart({ role: 'api' });
    const ids = [await start('other'), await start('other'), await start('other')];
    most.clear();
    await t.restart({ models: { 'fake/quick': { concurrency: 1 } } });
    expect(await rest(ids)).toEqual(['completed', 'completed', 'completed']);
    expect(most.get('quick')).toBe(1);
  });
});

it.each([{ images: { 'one:1': { concurrency: 0 } } }, { models: { '': { concurrency: 1 } } }])(
  'limits that are none are refused at the start: %j',
  async (limits) => {
    const config = { agents: AGENTS, ...limits, databaseUrl: null, dataDir: '/nowhere' };
    await expect(createEngine(config)).rejects.toMatchObject({ code: 'config_invalid' });
  },
);
