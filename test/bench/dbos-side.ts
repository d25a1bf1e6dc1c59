import { randomUUID } from 'node:crypto';
import { DBOS } from '@dbos-inc/dbos-sdk';
import { Runner } from '@openai/agents';
import { openDatabase } from '../../src/storage/database/open-database.js';
import type { Job, Side } from './side.js';
import { steppedAgent } from './stepped-agent.js';

const DAY_S = 86_400;

/**
 * The same agent on plain DBOS: each model call and each tool call is a step; no checks, no log, no chain. On PostgreSQL with
 * the pool that DBOS makes itself; on PGlite with ours, since there is no other.
 */
export async function openDbos(job: Job): Promise<Side> {
  const agent = steppedAgent(job.modelMs, (name, work) => DBOS.runStep(work, { name }));
  const runner = new Runner({ tracingDisabled: true });
  const adder = DBOS.registerWorkflow(
    async (turns: string) => {
      const result = await runner.run(agent, turns, { maxTurns: 10_000 });
      return result.finalOutput;
    },
    { name: 'adder' },
  );
  const waits = new Map<string, () => void>();
  const begun = new Map<string, (at: number) => void>();
  const asker = DBOS.registerWorkflow(
    async (id: string) => {
      await DBOS.runStep(async () => 'asked', { name: 'model' });
      waits.get(id)?.();
      await DBOS.recv('decision', { timeoutSeconds: DAY_S });
      await DBOS.runStep(async () => void begun.get(id)?.(performance.now()), { name: 'tool' });
      await DBOS.runStep(async () => 'enough', { name: 'model' });
    },
    { name: 'asker' },
  );
  const { databaseUrl, dataDir } = job.place;
  const embedded = databaseUrl === null ? await openDatabase({ databaseUrl, dataDir }) : null;
  DBOS.setConfig({
    name: 'bench',
    systemDatabaseUrl: databaseUrl ?? embedded?.url ?? '',
    ...(embedded === null ? {} : { systemDatabasePool: embedded.pool }),
    logLevel: 'error',
    applicationVersion: '1',
    executorID: job.workerId,
  });
  await DBOS.launch();
  return {
    run: async (turns) => {
      const handle = await DBOS.startWorkflow(adder)(String(turns));
      await handle.getResult();
    },
    start: async (turns) => void (await DBOS.startWorkflow(adder)(String(turns))),
    pause: async () => {
      const id = randomUUID();
      const waiting = new Promise<void>((resolve) => waits.set(id, resolve));
      await DBOS.startWorkflow(asker, { workflowID: id })(id);
      await waiting;
      return id;
    },
    decide: async (id) => {
      // Once it is at work on its message, a send finds it there.
      await new Promise((resolve) => setTimeout(resolve, 20));
      const begins = new Promise<number>((resolve) => begun.set(id, resolve));
      const at = performance.now();
      await DBOS.send(id, 'approve', 'decision');
      const ms = (await begins) - at;
      await DBOS.retrieveWorkflow(id).getResult();
      return ms;
    },
    ended: async () => {
      const done = await DBOS.listWorkflows({ status: 'SUCCESS', loadInput: false, loadOutput: false });
      return done.length;
    },
    stop: async () => {
      await DBOS.shutdown();
      await embedded?.close();
    },
  };
}
