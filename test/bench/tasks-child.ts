import { DBOS, DBOSClient } from '@dbos-inc/dbos-sdk';
import { Agent } from '@openai/agents';
import { createEngine, defineAgent, functionModel, LOCAL_CALLER } from 'holdfast';
import type { Place } from './place.js';

/** One process of a measurement of queued tasks: puts them in and ends, or works on them until it is killed. */

export interface TasksJob {
  readonly place: Place;
  readonly side: 'holdfast' | 'dbos';
  /** Null: it works. */
  readonly submits: number | null;
  readonly workerId: string;
  readonly concurrency: number;
}

const job: TasksJob = JSON.parse(process.argv[2] ?? '{}');
const { place, side, submits, workerId, concurrency } = job;
const QUEUE = 'tasks';

const DEFINITION = {
  ...{ name: 'nothing', version: '1.0.0', category: 'bench', difficulty: 'easy' as const },
  instruction: 'Do nothing.',
  environment: { image: 'none' },
  verification: { tests: [{ name: 'nothing', command: 'true' }] },
};

/** A task ends without a container where its agent fails: its model says no, and it is not tried again. */
async function holdfast(): Promise<void> {
  const model = functionModel('no', () => {
    throw new Error('no');
  });
  const engine = await createEngine({
    agents: [defineAgent({ agent: new Agent({ name: 'idle', model }) })],
    ...place,
    ...{ workerId, concurrency, retries: { most: 0 } },
    role: submits === null ? 'worker' : 'api',
  });
  if (submits === null) return;
  const lines = async function* () {
    for (let line = 1; line <= submits; line++) yield { line, value: { task: DEFINITION, agent: 'idle' } };
  };
  for await (const answer of engine.submitTasks(lines(), LOCAL_CALLER, 'bench')) {
    if ('error' in answer) throw new Error(`line ${answer.line}: ${answer.error.message}`);
  }
  await engine.stop();
}

/** Its least: a workflow of one step. */
async function dbos(): Promise<void> {
  const systemDatabaseUrl = place.databaseUrl ?? '';
  if (submits !== null) {
    const client = await DBOSClient.create({ systemDatabaseUrl });
    const options = { queueName: QUEUE, workflowName: 'nothing', appVersion: '1' };
    for (let n = 0; n < submits; n++) await client.enqueue(options, n);
    return client.destroy();
  }
  DBOS.registerWorkflow(async (n: number) => DBOS.runStep(async () => n, { name: 'nothing' }), { name: 'nothing' });
  DBOS.setConfig({
    ...{ name: 'bench', systemDatabaseUrl, logLevel: 'error', applicationVersion: '1', executorID: workerId },
  });
  await DBOS.launch();
  await DBOS.registerQueue(QUEUE, { workerConcurrency: concurrency });
}

await (side === 'holdfast' ? holdfast() : dbos());
process.stdout.write('"ready"\n');
if (submits !== null) process.exit(0);
setInterval(() => {}, 60_000);
