import { randomBytes } from 'node:crypto';
import type { Knex } from 'knex';
import { appendEvents, createLog } from '../../src/storage/log/events.js';
import { insertRun } from '../../src/storage/runs/runs.js';

/** Inserts a run with its log, as one that was just started, without an engine. Returns its id. */
export async function insertBareRun(knex: Knex): Promise<string> {
  const id = `run_${randomBytes(16).toString('hex')}`;
  const agent = { agent: 'a', agentVersion: '1', agentHash: 'h', input: 'go', grants: [], metadata: {} };
  const limits = { maxTurns: 1, maxTotalTokens: null, maxDurationMs: null };
  await knex.transaction(async (trx) => {
    await insertRun(trx, { id, tenant: 'default', priority: 1, limits, ...agent });
    await createLog(trx, id, 'default', randomBytes(32).toString('hex'));
    const data = { ...agent, limits, policyVersion: 'p' };
    await appendEvents(trx, id, [{ key: 'created', parentKey: null, kind: 'run.created', data }], {
      ...{ at: new Date().toISOString(), worker: null },
    });
  });
  return id;
}
