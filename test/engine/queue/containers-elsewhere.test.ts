import { Agent } from '@openai/agents';
import { expect, it } from 'vitest';
import { defineAgent, functionModel } from '../../../src/index.js';
import { describeEachDatabase } from '../../harness/database.js';
import { ADMIN, engineFor, restOf } from '../../harness/engine.js';
import { say } from '../../harness/script.js';

/** A worker without a container engine, beside another one that has it or had it. */

const PATIENCE_MS = 6000;
const agent = defineAgent({
  agent: new Agent({ name: 'plain', model: functionModel('m', async () => [say('done')]) }),
});
const TASK = {
  ...{ name: 'add-up', version: '1.0.0', category: 'math', difficulty: 'easy' as const, instruction: 'Add up.' },
  environment: { image: 'one:1' },
  verification: { tests: [{ name: 'adds', command: 'true' }] },
};

describeEachDatabase('a worker without a container engine', (kind) => {
  const t = engineFor(kind, { agents: [agent], dockerPatienceMs: PATIENCE_MS, retries: { most: 0 } });
  const submit = async () => (await t.engine.submitTask({ task: TASK, agent: 'plain' }, ADMIN)).runId;

  it('fails a run that needs one, where no worker has one', async () => {
    const [own] = (await t.engine.listWorkers({ limit: 10 })).items;
    expect(own?.containers).toBe(false);
    expect(await restOf(t.engine, await submit())).toMatchObject({
      status: 'failed',
      error: { code: 'engine_unreachable' },
    });
  });

  it('leaves it to one that has it, says so, and fails it when that one was away for the patience', async () => {
    // No such engine is there: it is asked nothing, since a worker has it only to take runs.
    await t.restart({ workerId: 'elsewhere', dockerHost: 'unix:///tmp/holdfast-no-engine.sock' });
    await t.restart();
    const workers = (await t.engine.listWorkers({ limit: 10 })).items;
    expect(Object.fromEntries(workers.map(({ id, containers }) => [id, containers]))).toMatchObject({
      ...{ elsewhere: true, test: false },
    });
    const id = await submit();
    const plain = (await t.engine.startRun({ agent: 'plain', input: 'go' }, ADMIN)).id;
    expect(await restOf(t.engine, plain)).toMatchObject({ status: 'completed' });
    expect(await t.engine.getRun(id, ADMIN)).toMatchObject({ status: 'queued' });
    const health = await t.engine.health();
    expect(health.checks['containers']).toMatchObject({ status: 'warn', detail: expect.stringContaining('wait') });
    const run = await restOf(t.engine, id);
    expect(run).toMatchObject({ status: 'failed', error: { code: 'engine_unreachable' } });
    await expect.poll(async () => (await t.engine.health()).checks['containers']).toBeUndefined();
  });
});
