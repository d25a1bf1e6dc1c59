import { randomBytes } from 'node:crypto';
import type { Knex } from 'knex';
import type { ScaffoldName } from '../../src/core/agents/scaffold.js';
import {
  type Above,
  assertNesting,
  childRunId,
  limitsOfChild,
  type StartedChild,
  type SubAgentSpec,
} from '../../src/core/agents/sub-agent.js';
import { budgetOfChild } from '../../src/core/budgets/budget.js';
import { HoldfastError } from '../../src/core/errors/errors.js';
import { type GrantSet, grantsToJson } from '../../src/core/grants/grants.js';
import { delegateGrants } from '../../src/core/grants/grants-narrowing.js';
import { type JsonObject, toJson } from '../../src/core/json.js';
import { EVENT_DATA, type EventData } from '../../src/core/log/event.js';
import { isUndo } from '../../src/core/plans/node-call.js';
import { isOver, type RunLimits } from '../../src/core/runs/run.js';
import type { TrustLabel } from '../../src/core/tools/tool-memory.js';
import { approversOf } from '../../src/storage/interruptions/interruptions.js';
import { createLog, extendLog } from '../../src/storage/log/events.js';
import { creationOf, eventIdOf, readEvent } from '../../src/storage/log/read-events.js';
import { copySubjects } from '../../src/storage/retention/subjects.js';
import { ageOfRun } from '../../src/storage/runs/run-deadlines.js';
import { ancestorsOf, limitsOf, type RunRow } from '../../src/storage/runs/run-row.js';
import { insertRun, lockRun, runs } from '../../src/storage/runs/runs.js';
import { isoNow, type StepContext } from '../context.js';
import { transact } from '../database-retry.js';
import { timeLeftMs } from '../segment/begin-segment.js';

/** What a worker knows of an agent that runs can be started of. */
export interface StartableAgent {
  readonly name: string;
  readonly version: string;
  readonly definitionHash: string;
  readonly grants: GrantSet;
  readonly limits: RunLimits;
  /** Null: it declares none. */
  readonly state: { readonly initial: JsonObject } | null;
  readonly scaffold: { readonly scaffold: ScaffoldName } | null;
}

export interface ChildStart {
  readonly parent: {
    readonly id: string;
    readonly grants: GrantSet;
    readonly limits: RunLimits;
    /** Whether it undoes what it did when its time is over. */
    readonly undoes: boolean;
    /** Of the run until this call, over all its segments, children included. */
    readonly turns: number;
    readonly totalTokens: number;
  };
  readonly callId: string;
  /** Key of the parent's event that the child follows from. It is in the log when this is called. */
  readonly causeKey: string;
  readonly spec: SubAgentSpec;
  readonly agent: StartableAgent;
  /** The parsed arguments of the call. */
  readonly input: unknown;
  /** Whether people approved the call itself. */
  readonly isApproved: boolean;
  /** Labels of what the parent has read from outside. */
  readonly labels: readonly TrustLabel[];
}

/**
 * Starts the run of a call: row, log, first event and first segment in one transaction, under the lock of the parent's row, so
 * that no child is started of a run that is over or being cancelled. Its id follows from the call: executing this again
 * changes nothing, and gives what the child was started with. Throws by name what keeps it from being started.
 */
export async function startChild(ctx: StepContext, start: ChildStart): Promise<StartedChild> {
  const { parent, callId, spec, agent } = start;
  const id = childRunId(parent.id, callId);
  const proposal = spec.proposal?.(start.input) ?? null;
  const { grants, missing } = delegateGrants(parent.grants, agent.grants, proposal?.grants ?? spec.grants);
  if (proposal !== null && missing.length > 0) throw notPassedOn(missing);
  const budget = budgetOfChild({ id: parent.id, budget: parent.limits.budget }, { id, own: agent.limits.budget });
  const input = toJson(spec.inputOf(start.input));
  const started = await transact(ctx, async (trx): Promise<StartedChild> => {
    const row = await lockRun(trx, parent.id);
    const before = await createdEventOf(trx, id);
    if (before !== null) return startedAs(id, before);
    if (row === undefined || isOver(row.status) || row.cancel_requested_at !== null)
      throw new HoldfastError('run_over', `Run ${parent.id} is over or being cancelled; nothing is started below it.`);
    const limits = {
      ...{ ...limitsOfChild(parent, agent.limits, spec), ...(budget && { budget }) },
      ...(await elapsedLeft(trx, start)),
    };
    const above = await runsAbove(trx, row);
    assertNesting(spec, above);
    const { name, version, definitionHash } = agent;
    const pinned = {
      ...{ priority: row.priority, stream: null, scaffold: agent.scaffold?.scaffold.name ?? null, taskId: null },
      ...{
        ancestors: above.map((one) => one.id),
        timeLeftMs: timeLeftMs(row, limitsOf(row).maxDurationMs, ctx.now()),
      },
    };
    await insertRun(trx, {
      ...{ id, tenant: row.tenant, agent: name, agentVersion: version, agentHash: definitionHash, input },
      scaffold: pinned.scaffold,
      ...{ priority: row.priority, grants: grantsToJson(grants), limits, metadata: {} },
      parent: {
        ...{ runId: parent.id, callId, ancestors: pinned.ancestors, timeLeftMs: pinned.timeLeftMs },
      },
    });
    await copySubjects(trx, parent.id, id);
    const log = await createLog(trx, id, row.tenant, randomBytes(32).toString('hex'));
    const eventId = await eventIdOf(trx, parent.id, start.causeKey);
    const creation = await creationOf(trx, parent.id);
    const labels = new Set([...(creation?.labels ?? []), ...start.labels]);
    const data: EventData<'run.created'> = {
      ...{ agent: name, agentVersion: version, agentHash: definitionHash, input, metadata: {} },
      ...{ grants: grantsToJson(grants), policyVersion: grants.policyVersion, limits, pinned },
      ...(agent.state && { state: agent.state.initial }),
      ...(labels.size === 0 ? {} : { labels: [...labels] }),
      ...(proposal !== null && start.isApproved
        ? { approvedPlan: { runId: id, digest: proposal.digest, by: await approversOf(trx, parent.id, callId) } }
        : {}),
      requestedBy: [...(creation?.requestedBy ?? [])],
      parent: { runId: parent.id, callId, eventId, notGranted: [...missing] },
    };
    const context = { at: isoNow(ctx), worker: null };
    await extendLog(trx, log, [{ key: 'created', parentKey: null, kind: 'run.created', data }], context);
    const run = { id, tenant: row.tenant, agent: name, priority: row.priority, task_id: null };
    await ctx.queue.enqueue(trx, [{ run, segment: 0, band: 'child' }]);
    return startedAs(id, data);
  });
  ctx.changed(id);
  ctx.queue.wake();
  return started;
}

/**
 * A run that undoes what it did waits for those below it when its time is over, so that theirs is over then, too. What undoes has the
 * time that it needs.
 */
async function elapsedLeft(
  trx: Knex.Transaction,
  { parent: { id, limits, undoes }, callId, agent }: ChildStart,
): Promise<Pick<RunLimits, 'maxElapsedMs'>> {
  if (!undoes || limits.maxElapsedMs === undefined || isUndo(callId)) return {};
  const leftMs = Math.max(1, Math.ceil(limits.maxElapsedMs - (await ageOfRun(trx, id))));
  return { maxElapsedMs: Math.min(leftMs, agent.limits.maxElapsedMs ?? leftMs) };
}

const notPassedOn = (missing: readonly string[]): HoldfastError =>
  new HoldfastError(
    'plan_not_granted',
    `The plan needs what this run may not pass on (delegate): ${missing.slice(0, 20).join(', ')}.`,
  );

async function createdEventOf(trx: Knex.Transaction, id: string): Promise<EventData<'run.created'> | null> {
  const first = await readEvent(trx, id, 1);
  return first === undefined ? null : EVENT_DATA['run.created'].parse(first.data);
}

const startedAs = (childRunId: string, created: EventData<'run.created'>): StartedChild => {
  const { agent, agentVersion, policyVersion, limits, parent } = created;
  return { childRunId, agent, agentVersion, policyVersion, limits, notGranted: parent?.notGranted ?? [] };
};

/** The runs above a child of this run, the topmost first. */
async function runsAbove(trx: Knex.Transaction, parent: RunRow): Promise<readonly Above[]> {
  const ids = [...ancestorsOf(parent), parent.id];
  const rows: Above[] = await runs(trx).whereIn('id', ids).select('id', 'agent');
  return ids.map((id) => ({ id, agent: rows.find((row) => row.id === id)?.agent ?? '' }));
}
