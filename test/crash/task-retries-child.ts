import { Agent } from '@openai/agents';
import { createEngine, functionModel } from '../../src/index.js';
import { REVIEWER } from './careful-person.js';
import { arm, install } from './kill-switch.js';
import { print } from './report.js';

/** One process that sees a task through all of its attempts, each of which fails, puts it back once, or dies where it is told to. WORKER_ID: beside another one. */
install();
const task = {
  ...{ name: 'crash', version: '1.0.0', category: 'crash', difficulty: 'easy' as const, instruction: 'Add up.' },
  environment: { image: 'holdfast-test/busybox:1' },
  verification: { tests: [{ name: 'adds', command: 'true' }] },
};
const model = functionModel('mute', () => {
  throw new Error('no words');
});
const engine = await createEngine({
  agents: [new Agent({ name: 'mute', model })],
  databaseUrl: process.env['DATABASE_URL'] ?? null,
  dataDir: process.env['HOLDFAST_DATA_DIR'] ?? '',
  workerId: process.env['WORKER_ID'] ?? 'crash',
  crashLimit: 1000,
  retries: { most: 2, firstMs: 1, longestMs: 1 },
});
arm();
const { id } = await engine.submitTask({ task, agent: 'mute', seed: 1 }, REVIEWER, 'the-task');
for (;;) {
  const { dead, attempts } = await engine.getTask(id, REVIEWER);
  if (dead && attempts > 3) break;
  if (dead) await engine.requeueTask(id, { attempts }, REVIEWER);
  await new Promise((resolve) => setTimeout(resolve, 50));
}
const { attempts, result, retryAt, tried = [] } = await engine.getTask(id, REVIEWER);
const { items: runs } = await engine.listRuns({ limit: 50 }, REVIEWER);
const { items } = await engine.listSystemEvents({ after: 0, limit: 200, taskId: id }, REVIEWER);
const told = items.filter(({ kind }) => ['task.assigned', 'task.failed', 'task.requeued'].includes(kind));
const whole = await Promise.all(tried.map(({ runId }) => engine.verifyRun(runId, REVIEWER)));
print([
  {
    ...{ id: '', agent: 'mute', parentRunId: null, status: 'failed', error: null, turns: 0, usage: null, events: [] },
    ...{ ok: whole.every(({ ok }) => ok), complete: whole.every(({ complete }) => complete) },
    output: {
      ...{ attempts, result, retryAt, runs: runs.length, tried: tried.map(({ error }) => error?.code) },
      told: told.map(({ kind, data }) => [kind, data]),
    },
  },
]);
await engine.stop();
process.exit(0);
