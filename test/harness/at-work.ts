import type { Knex } from 'knex';
import { registerWorker } from '../../src/storage/queue/workers.js';
import { insertRun } from '../../src/storage/runs/runs.js';

/** Rows of runs that are at work, and of the worker that has them. */
export async function atWork(
  knex: Knex,
  runIds: readonly string[],
): Promise<{ readonly id: string; readonly epoch: number }> {
  const id = 'at-work';
  const parts = { build: '1', recordingVersion: 1, pid: 1, role: 'worker', capacity: 1, session: null } as const;
  const epoch = await knex.transaction((trx) => registerWorker(trx, { id, ...parts }));
  for (const run of runIds)
    await insertRun(knex, {
      ...{ id: run, tenant: 't', agent: 'a', agentVersion: '1', agentHash: 'h', priority: 1, input: 'go' },
      ...{ grants: [], limits: { maxTurns: 1, maxTotalTokens: null, maxDurationMs: null }, metadata: {} },
    });
  return { id, epoch };
}
