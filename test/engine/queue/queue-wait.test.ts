import { Agent } from '@openai/agents';
import { expect, it } from 'vitest';
import { defineAgent, functionModel } from '../../../src/index.js';
import { describeEachDatabase } from '../../harness/database.js';
import { ADMIN, engineFor, restOf } from '../../harness/engine.js';
import { say } from '../../harness/script.js';

let release: () => void = () => undefined;
let held: Promise<void> = Promise.resolve();
const hold = () => {
  held = new Promise((resolve) => {
    release = resolve;
  });
};
const agent = (name: string, limits: object = {}) =>
  defineAgent({
    agent: new Agent({
      name,
      model: functionModel('m', async () => {
        await held;
        return [say('done')];
      }),
    }),
    ...limits,
  });
const agents = [
  agent('plain'),
  agent('single', { concurrency: 1 }),
  agent('rare', { rate: { runs: 1, perMs: 60_000 } }),
];

describeEachDatabase('a run in the queue', (kind) => {
  const t = engineFor(kind, { agents, concurrency: 2 });
  const start = async (name: string) => (await t.engine.startRun({ agent: name, input: 'go' }, ADMIN)).id;
  const waitsFor = async (id: string) => (await t.engine.getRun(id, ADMIN)).waitsFor?.code ?? null;
  const works = (id: string) => expect.poll(async () => (await t.engine.getRun(id, ADMIN)).status).toBe('running');

  it('says that its agent has as many at work as may be', async () => {
    hold();
    const first = await start('single');
    await works(first);
    const second = await start('single');
    expect((await t.engine.getRun(second, ADMIN)).waitsFor).toEqual({
      code: 'limit',
      detail: 'The agent "single" has reached its limit of 1 at work.',
    });
    release();
    for (const id of [first, second]) expect(await restOf(t.engine, id)).toMatchObject({ status: 'completed' });
    expect(await waitsFor(second)).toBeNull();
  });

  it('says that a rate holds it back', async () => {
    release();
    expect(await restOf(t.engine, await start('rare'))).toMatchObject({ status: 'completed' });
    expect(await waitsFor(await start('rare'))).toBe('rate');
  });

  it('says that workers have no room', async () => {
    hold();
    const busy = [await start('plain'), await start('plain')];
    for (const id of busy) await works(id);
    const last = await start('plain');
    await expect.poll(() => waitsFor(last), { timeout: 5000 }).toBe('capacity');
    release();
    expect(await restOf(t.engine, last)).toMatchObject({ status: 'completed' });
  });

  it('says that no worker executes runs', async () => {
    await t.restart({ role: 'api' });
    expect(await waitsFor(await start('plain'))).toBe('worker');
  });
});
