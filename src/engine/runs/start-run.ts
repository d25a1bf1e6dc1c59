import { randomBytes } from 'node:crypto';
import type { Knex } from 'knex';
import { isoNow, type StepContext } from '../../../steps/context.js';
import { budgetOfRun } from '../../core/budgets/budget.js';
import type { Caller } from '../../core/caller.js';
import { HoldfastError } from '../../core/errors/errors.js';
import { fieldErrorsOf, invalidRequest } from '../../core/field-errors.js';
import { type GrantSet, grantsToJson } from '../../core/grants/grants.js';
import { narrowGrants } from '../../core/grants/grants-narrowing.js';
import { canonical, digestOf, type JsonObject, type JsonValue, toJson } from '../../core/json.js';
import { type RunLimits, type RunView, type StartRun, startRun as startRunShape } from '../../core/runs/run.js';
import { contextOf } from '../../core/runs/run-context.js';
import { itemFaults } from '../../models/input-items.js';
import { ProgramModel } from '../../models/program-model.js';
import { createLog, extendLog } from '../../storage/log/events.js';
import { assertNotErasing, insertSubjects } from '../../storage/retention/subjects.js';
import { takeIdempotencyKey } from '../../storage/runs/idempotency.js';
import { type RunRow, runViewOf } from '../../storage/runs/run-row.js';
import { findRun, insertRun } from '../../storage/runs/runs.js';
import type { RegisteredAgent } from '../agents/agent-registry.js';
import { agentNamed, type EngineContext } from '../engine-context.js';
import { takeSession } from './database-session.js';

/** A run that may be started: everything of it was judged. */
export interface PlannedRun {
  readonly id: string;
  readonly tenant: string;
  readonly agent: RegisteredAgent;
  readonly input: JsonValue;
  readonly grants: GrantSet;
  readonly limits: RunLimits;
  readonly metadata: JsonObject;
  /** What its code gets as context; undefined: none. */
  readonly context?: JsonObject | undefined;
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
  const { input, loaded, subjects, labels } =
    sessionId === null
      ? { input: run.input, loaded: null, subjects: [], labels: [] }
      : await takeSession(trx, { tenant, id: sessionId }, id, run.input);
  const about = [...run.subjects, ...subjects];
  await assertNotErasing(trx, tenant, about);
  await insertSubjects(trx, of, about);
  const log = await createLog(trx, id, tenant, randomBytes(32).toString('hex'));
  const data = {
    ...{ agent: name, agentVersion: version, agentHash: definitionHash, input, metadata },
    ...{ grants: grantsToJson(grants), policyVersion: grants.policyVersion, limits },
    ...(run.context === undefined ? {} : { context: run.context }),
    ...(agent.state && { state: agent.state.initial }),
    ...(labels.length === 0 ? {} : { labels: [...labels] }),
    pinned: { priority, stream, scaffold, taskId, timeLeftMs: null, ancestors: [] },
    requestedBy: [...run.requestedBy],
  };
  const created = { key: 'created', parentKey: null, kind: 'run.created', data } as const;
  const stamp = { at: isoNow(ctx), worker: null };
  await extendLog(trx, log, loaded === null ? [created] : [created, loaded], stamp);
  await ctx.queue.enqueue(trx, [{ run: { ...of, priority, task_id: taskId }, segment: 0, band: 'new' }]);
  return inserted;
}

const METADATA_BYTES = 16_384;
export const NEW_RUN_PRIORITY = 1000;

/** Thrown out of a transaction that would make a run for the second time. */
export class AlreadyStarted extends Error {
  readonly runId: string;

  constructor(runId: string) {
    super(`run ${runId} was started by the same key`);
    this.runId = runId;
  }
}

/** Takes an idempotency key for a new run, if there is one. Throws `AlreadyStarted`, or `idempotency_key_reused`. */
export async function takeKey(
  trx: Knex.Transaction,
  wanted: Omit<Parameters<typeof takeIdempotencyKey>[1], 'key'> & { readonly key: string | undefined },
): Promise<void> {
  const { key, fingerprint } = wanted;
  if (key === undefined) return;
  const taken = await takeIdempotencyKey(trx, { ...wanted, key });
  if (taken?.fingerprint === '')
    throw new HoldfastError('run_erased', `The key ${key} started run ${taken.runId}, whose content was erased.`);
  if (taken !== null && taken.fingerprint !== fingerprint) {
    throw new HoldfastError('idempotency_key_reused', `The key ${key} started run ${taken.runId} with another body.`);
  }
  if (taken !== null) throw new AlreadyStarted(taken.runId);
}

/** Writes the run, its first event and its first segment in one transaction. */
export async function startRun(
  context: EngineContext,
  request: StartRun,
  caller: Caller,
  idempotencyKey?: string,
): Promise<RunView> {
  const choose: ChooseAgent = (name, run) =>
    context.versions.agentFor(agentNamed(context, name, '/agent'), { id: run, tenant: caller.tenant });
  return startRunOf(context, choose, request, caller, idempotencyKey);
}

/** The definition that a new run gets. */
type ChooseAgent = (name: string, runId: string) => RegisteredAgent | Promise<RegisteredAgent>;

/** Starts a run of the definition that `choose` gives. */
export async function startRunOf(
  context: EngineContext,
  choose: ChooseAgent,
  request: StartRun,
  caller: Caller,
  idempotencyKey?: string,
): Promise<RunView> {
  const parsed = startRunShape.safeParse({ ...request, input: itemsOf(request.input) });
  if (!parsed.success) throw invalidRequest(fieldErrorsOf(parsed.error));
  const id = newRunId(context);
  const agent = await choose(parsed.data.agent, id);
  const asked = toJson(parsed.data.input);
  const metadata = assertMetadata(parsed.data.metadata);
  const { stepContext } = context;
  const planned: PlannedRun = {
    ...{ id, tenant: caller.tenant, agent, input: asked, metadata },
    ...{ grants: effectiveGrants(agent, parsed.data.grants), limits: limitsOfStart(context, agent, parsed.data) },
    ...{ priority: parsed.data.priority ?? NEW_RUN_PRIORITY, stream: parsed.data.stream ?? null },
    ...{ sessionId: parsed.data.sessionId ?? null, subjects: parsed.data.subjects ?? [], taskId: null },
    requestedBy: [caller.actor],
    context: contextOfStart(agent, parsed.data.context),
  };
  assertItems(agent, planned.input);
  agent.plan?.assertStart(planned);
  agent.proposals?.assertStart(planned);
  agent.machine?.assertStart(planned);
  const fingerprint = digestOf(toJson(parsed.data));
  const key = { tenant: caller.tenant, operation: 'start_run', key: idempotencyKey, fingerprint, runId: id };
  let row: RunRow;
  try {
    row = await stepContext.knex.transaction(async (trx) => {
      const inserted = await writeRun(stepContext, trx, planned, () => takeKey(trx, key));
      // A session changes what the run has.
      return planned.sessionId === null ? inserted : ((await findRun(trx, caller.tenant, id)) ?? inserted);
    });
  } catch (error) {
    if (!(error instanceof AlreadyStarted)) throw error;
    return viewOf(context, caller, error.runId);
  }
  stepContext.queue.wake();
  stepContext.metrics.runStarted(agent.name);
  return runViewOf(row, []);
}

/** The context as the agent declares it. Throws `invalid_request`. */
function contextOfStart({ name, context }: RegisteredAgent, given: JsonObject | undefined): JsonObject | undefined {
  if (context === null) {
    if (given === undefined) return undefined;
    const detail = `the agent ${name} declares no context: give defineAgent \`context: true\`, or a schema`;
    throw invalidRequest([{ pointer: '/context', detail }]);
  }
  const parsed = context.safeParse(given);
  if (parsed.success) return contextOf(parsed.data);
  // Without one the agent works, and code that reads it says so.
  if (given === undefined) return undefined;
  throw invalidRequest(fieldErrorsOf(parsed.error).map((one) => ({ ...one, pointer: `/context${one.pointer}` })));
}

/** What a model is shown are items of the SDK; what a program gets is up to its own schema. Throws `invalid_request`. */
function assertItems({ agent: { model } }: RegisteredAgent, input: JsonValue): void {
  if (!Array.isArray(input) || model instanceof ProgramModel) return;
  const faults = itemFaults(input);
  if (faults.length > 0) throw invalidRequest(faults.map((one) => ({ ...one, pointer: `/input${one.pointer}` })));
}

/** Items as the SDK makes them have members that are undefined. What JSON cannot carry is refused with the rest. */
function itemsOf(input: StartRun['input']): unknown {
  if (!Array.isArray(input)) return input;
  try {
    return toJson(input);
  } catch {
    return input;
  }
}

export const newRunId = ({ stepContext }: Pick<EngineContext, 'stepContext'>): string =>
  `run_${stepContext.newId().replaceAll('-', '')}`;

/** What a run may take: no more than its agent, and what budgets say. */
export function limitsOfStart(
  { stepContext }: Pick<EngineContext, 'stepContext'>,
  agent: RegisteredAgent,
  asked: Pick<StartRun, Bounded | 'budget'>,
): RunLimits {
  const budget = budgetOfRun(stepContext.budgets, { agent: agent.name, own: agent.limits.budget }, asked.budget);
  return { ...effectiveLimits(agent.limits, asked), ...(budget && { budget }) };
}

export async function viewOf(context: EngineContext, caller: Caller, id: string): Promise<RunView> {
  const row = await findRun(context.stepContext.knex, caller.tenant, id);
  if (row === undefined) throw new HoldfastError('run_unknown', `There is no run ${id}.`);
  return runViewOf(row, []);
}

export function assertMetadata(metadata: JsonObject | undefined): JsonObject {
  const value = metadata ?? {};
  const size = Buffer.byteLength(canonical(value));
  if (size <= METADATA_BYTES) return value;
  throw new HoldfastError('payload_too_large', `metadata has ${size} bytes; its bound is ${METADATA_BYTES}.`, {
    fields: [{ pointer: '/metadata', detail: `at most ${METADATA_BYTES} bytes` }],
  });
}

const lesser = (bound: number | null, asked: number | undefined): number | null =>
  asked === undefined ? bound : bound === null ? asked : Math.min(bound, asked);

type Bounded = 'maxTurns' | 'maxTotalTokens' | 'maxDurationMs' | 'maxElapsedMs';

/** A run may ask for less than its agent has, never for more. */
export function effectiveLimits(bounds: RunLimits, asked: Pick<StartRun, Bounded>): RunLimits {
  const maxElapsedMs = lesser(bounds.maxElapsedMs ?? null, asked.maxElapsedMs);
  return {
    maxTurns: lesser(bounds.maxTurns, asked.maxTurns) ?? bounds.maxTurns,
    maxTotalTokens: lesser(bounds.maxTotalTokens, asked.maxTotalTokens),
    maxDurationMs: lesser(bounds.maxDurationMs, asked.maxDurationMs),
    ...(maxElapsedMs === null ? {} : { maxElapsedMs }),
  };
}

const effectiveGrants = (agent: RegisteredAgent, asked: StartRun['grants']): GrantSet =>
  asked === undefined ? agent.grants : narrowGrants(agent.grants, asked);
