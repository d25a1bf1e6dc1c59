import { randomBytes } from 'node:crypto';
import type { Knex } from 'knex';
import { isoNow, type StepContext } from '../../../steps/context.js';
import { type GrantSet, grantsToJson } from '../../core/grants/grants.js';
import type { JsonObject, JsonValue } from '../../core/json.js';
import type { RunLimits } from '../../core/runs/run.js';
import { createLog, extendLog } from '../../storage/log/events.js';
import { assertNotErasing, insertSubjects } from '../../storage/retention/subjects.js';
import type { RunRow } from '../../storage/runs/run-row.js';
import { insertRun } from '../../storage/runs/runs.js';
import type { RegisteredAgent } from '../agents/agent-registry.js';
import { takeSession } from './hold-session.js';

/** A run that may be started: everything of it was judged. */
export interface PlannedRun {
  readonly id: string;
  readonly tenant: string;
  readonly agent: RegisteredAgent;
  readonly input: JsonValue;
  readonly grants: GrantSet;
  readonly limits: RunLimits;
  readonly metadata: JsonObject;
  readonly priority: number;
  readonly stream: boolean | null;
  readonly sessionId: string | null;
  readonly subjects: readonly string[];
  /** Who asked for it. */
  readonly requestedBy: readonly string[];
  /** The task that it executes; null: none. */
  readonly taskId: string | null;
}

/**
 * Writes a run, its log with the first event, and its first segment, all or nothing. `claim` is asked when its row is there. Gives the row
 * as it was inserted: a session changes what the run has.
 */
export async function writeRun(
  ctx: StepContext,
  trx: Knex.Transaction,
  run: PlannedRun,
  claim: () => Promise<void>,
): Promise<RunRow> {
  const { id, tenant, agent, grants, limits, metadata, priority, stream, sessionId, taskId } = run;
  const { name, version, definitionHash } = agent;
  const of = { id, tenant, agent: name, agentVersion: version, agentHash: definitionHash };
  const scaffold = agent.scaffold?.scaffold.name ?? null;
  const pinned = { grants: grantsToJson(grants), limits, metadata, stream, scaffold };
  const inserted = await insertRun(trx, { ...of, ...pinned, priority, taskId, input: run.input });
  await claim();
  const { input, loaded, subjects } =
    sessionId === null
      ? { input: run.input, loaded: null, subjects: [] }
      : await takeSession(trx, { tenant, id: sessionId }, id, run.input);
  const about = [...run.subjects, ...subjects];
  await assertNotErasing(trx, tenant, about);
  await insertSubjects(trx, of, about);
  const log = await createLog(trx, id, tenant, randomBytes(32).toString('hex'));
  const data = {
    ...{ agent: name, agentVersion: version, agentHash: definitionHash, input, metadata },
    ...{ grants: grantsToJson(grants), policyVersion: grants.policyVersion, limits },
    pinned: { priority, stream, scaffold, taskId, timeLeftMs: null, ancestors: [] },
    requestedBy: [...run.requestedBy],
  };
  const created = { key: 'created', parentKey: null, kind: 'run.created', data } as const;
  const stamp = { at: isoNow(ctx), worker: null };
  await extendLog(trx, log, loaded === null ? [created] : [created, loaded], stamp);
  await ctx.queue.enqueue(trx, [{ run: { ...of, priority, task_id: taskId }, segment: 0, band: 'new' }]);
  return inserted;
}
