import { randomBytes } from 'node:crypto';
import type { Knex } from 'knex';
import { ORPHAN_AFTER_MS } from '../../../steps/containers/open-environment.js';
import { isoNow } from '../../../steps/context.js';
import { SYSTEM_ACTOR } from '../../../steps/interruptions/settle.js';
import { budgetOfRun } from '../../core/budgets/budget.js';
import type { Caller } from '../../core/caller.js';
import { HoldfastError } from '../../core/errors/errors.js';
import { type GrantSet, grantsToJson, parseGrants } from '../../core/grants/grants.js';
import { digestOf, type JsonObject, toJson } from '../../core/json.js';
import type { EventData, EventDraft } from '../../core/log/event.js';
import { type Given, givenIn, type KeyedEvent } from '../../core/log/recording.js';
import { type ForkPlan, type Onward, planFork } from '../../core/replay/fork.js';
import { type ForkEdit, refuseFork } from '../../core/replay/fork-edits.js';
import { filesFit, hasWorked, type Taken } from '../../core/replay/fork-files.js';
import { type Rebinding, rebindingOf, rebound } from '../../core/replay/rebinding.js';
import type { RunLimits, RunView } from '../../core/runs/run.js';
import { copyPins } from '../../storage/agents/mcp-lists.js';
import { holdSnapshot, wholeSnapshots } from '../../storage/containers/environment-snapshots.js';
import {
  findEnvironment,
  instanceId,
  type KeptEnvironment,
  saveEnvironment,
  workedFrom,
} from '../../storage/containers/environments.js';
import { breathe } from '../../storage/database/timing.js';
import { asLogged } from '../../storage/integrity/copied-rows.js';
import { appendEvents, createLog } from '../../storage/log/events.js';
import { readKeyedEvents } from '../../storage/log/keyed-events.js';
import { readEvent, requestersOf } from '../../storage/log/read-events.js';
import { copyCalls, copyInterruptions, copyStanding } from '../../storage/replay/forks.js';
import { assertNotErasing, copySubjects, subjectsOf } from '../../storage/retention/subjects.js';
import { grantsOf, inputOf, limitsOf, metadataOf, type RunRow } from '../../storage/runs/run-row.js';
import { assertNotErased, insertRun, lockRun, type NewRun } from '../../storage/runs/runs.js';
import { reachableAgents } from '../../tools/define/reachable-agents.js';
import type { RegisteredAgent } from '../agents/agent-registry.js';
import { toolSpecNamed } from '../agents/tool-named.js';
import { agentNamed, type EngineContext } from '../engine-context.js';
import { AlreadyStarted, assertMetadata, effectiveLimits, newRunId, takeKey, viewOf } from '../runs/start-run.js';

/** An outcome in place of a tool's must have the shape that the tool declares. Throws `fork_invalid`. */
function assertEditFits(
  context: EngineContext,
  runAgent: string,
  { begun }: ForkPlan,
  edit: ForkEdit,
  pointer: string,
): void {
  if (!('callId' in edit) || edit.outcome.type !== 'output') return;
  const edited = begun.get(edit.callId);
  if (edited === undefined) return;
  const { tool } = edited.call;
  const parsed = toolSpecNamed(context, { runAgent, agent: edited.agent, tool })?.parseOutput(edit.outcome.output);
  if (parsed === undefined || parsed.ok) return;
  throw new HoldfastError('fork_invalid', `${tool} does not return the outcome of the edit: ${parsed.problem}`, {
    fields: [{ pointer: `${pointer}/outcome/output`, detail: parsed.problem }],
  });
}

interface ForkPoint {
  readonly runId: string;
  readonly seq: number;
  readonly log: readonly KeyedEvent[];
  readonly plan: Taken;
}

/**
 * The snapshot whose files a fork begins with; null: it begins with none. Held until the transaction ends. Throws `fork_invalid` where
 * what a model was told of files in a container would not be so in the fork.
 */
async function filesForFork(
  trx: Knex.Transaction,
  { runId, seq, log, plan }: ForkPoint,
): Promise<KeptEnvironment | null> {
  const instance = await instanceId(trx);
  const run = await findEnvironment(trx, instance, { runId, purpose: 'run' });
  if (run === null) return null;
  const from = await workedFrom(trx, runId);
  if (from === null || !hasWorked(log, plan, from)) {
    const { source } = run.identity;
    if (source === null) return null;
    const held = await holdSnapshot(trx, source);
    if (held !== null) return held;
    throw refuse(`${runId} began with files of ${source.runId} that are not kept any more.`, START_ANEW);
  }
  const kept = await wholeSnapshots(trx, instance, runId);
  for (const { identity } of kept.filter((one) => filesFit(log, plan, one.seq))) {
    const held = await holdSnapshot(trx, identity);
    if (held !== null) return held;
  }
  const worked = `By event ${seq} ${runId} had worked in a container`;
  if (kept.length === 0)
    throw refuse(
      `${worked}, and its files of then are not kept.`,
      run.identity.spec.snapshots === null ? NO_SNAPSHOTS : START_ANEW,
    );
  const seqs = kept.map((one) => one.seq).reverse();
  throw refuse(
    `${worked}, whose files are kept as they were at event ${seqs.join(', ')}.`,
    'Fork it from one of these events, or from before its first command.',
  );
}

/** Keeps the environment of a fork before it has begun: with the files of the snapshot, and with what is recorded of its commands. */
async function takeFiles(
  trx: Knex.Transaction,
  { identity, engine, key }: KeptEnvironment,
  { id, tenant, now }: { readonly id: string; readonly tenant: string; readonly now: number },
): Promise<void> {
  const deadline = new Date(now + ORPHAN_AFTER_MS).toISOString();
  const own = { ...identity, runId: id, purpose: 'run' as const, attempt: 1, source: identity, deadline };
  await saveEnvironment(trx, { identity: own, engine, key }, tenant);
}

const START_ANEW = 'Fork it from an event before its first command, or start a new run.';
const NO_SNAPSHOTS = `${START_ANEW} With \`snapshots\` in the environment of its agent, files are kept for forks.`;

const refuse = (message: string, hint: string): HoldfastError => new HoldfastError('fork_invalid', message, { hint });

/** Whether a name is in a list of names, where `prefix/*` stands for every name that begins so. */
const isIn = (list: readonly string[], model: string): boolean =>
  list.some((one) => (one.endsWith('/*') ? model.startsWith(one.slice(0, -1)) : one === model));

/**
 * A person who forks a run may not have it ask any model that there is a key for: only those that the definition of its agent names, or
 * that `forkModels` allows. `kept`: the model that its source was given. Throws `fork_invalid`.
 */
function assertModelAllowed(
  { name, agent, forkModels }: RegisteredAgent,
  model: string | undefined,
  kept: string | null,
): void {
  if (model === undefined || model === kept) return;
  const own = reachableAgents(agent).flatMap((one) => (typeof one.model === 'string' ? [one.model] : []));
  const allowed = [...new Set([...own, ...forkModels])].filter((one) => one !== '');
  if (isIn(allowed, model)) return;
  const list = allowed.length === 0 ? 'none' : allowed.join(', ');
  throw refuseFork(
    '/model',
    `A run of ${name} may not be given the model ${model}. Allowed are: ${list}. \`forkModels\` of the agent or of the configuration allows more.`,
  );
}

/** A long log is copied part by part, so that it keeps nothing else of the process waiting. */
const EVENTS_AT_ONCE = 100;

/** A run to be made of a part of another one's log. */
interface Fork {
  readonly why: 'fork' | 'retry' | 'repair';
  /** Natural key of the event that names the source. */
  readonly key?: string;
  readonly source: RunRow;
  /** The last event that is taken over. */
  readonly at: (log: readonly KeyedEvent[]) => number;
  /** What its container begins with. Left out: the files that fit. */
  readonly files?: KeptEnvironment;
  readonly input: unknown;
  readonly edits: readonly ForkEdit[];
  readonly onward: Onward;
  /** No event after this one is read: the log is broken there. */
  readonly upTo?: number;
  readonly repair?: EventData<'run.forked'>['repair'];
  /** When it fires, nothing is made. */
  readonly signal?: AbortSignal;
}

/** A fork that someone asks for. */
interface AskedFork extends Fork {
  readonly fingerprint: string;
  /** Asked under the lock of the source's row. What it throws is what becomes of the fork. */
  readonly under?: (trx: Knex.Transaction) => Promise<void>;
}

/**
 * Makes it in one transaction, under the lock of the source's row: the source may work on and write its log meanwhile, but
 * nothing of it is decided, and no segment of it begins or ends, between the reading of its log and of its calls. Throws the reason of the
 * signal when it fires before all is written.
 */
export async function makeFork(
  context: EngineContext,
  fork: AskedFork,
  caller: Caller,
  idempotencyKey?: string,
): Promise<RunView> {
  const { stepContext } = context;
  const { source, why: operation, fingerprint } = fork;
  const { tenant } = caller;
  const id = newRunId(context);
  try {
    await stepContext.knex.transaction(async (trx) => {
      const locked = await lockRun(trx, source.id);
      if (locked !== undefined) assertNotErased(locked);
      await fork.under?.(trx);
      await writeFork(context, trx, fork, { id, tenant, actor: caller.actor }, () =>
        takeKey(trx, { tenant, operation, key: idempotencyKey, fingerprint, runId: id }),
      );
    });
  } catch (error) {
    if (!(error instanceof AlreadyStarted)) throw error;
    return viewOf(context, caller, error.runId);
  }
  stepContext.queue.wake();
  return viewOf(context, caller, id);
}

/** Writes a fork as a run of its own, with its log and its first segment. `actor`: who asks for it, beside who asked for its source. `claim` is asked when its row is there. */
export async function writeFork(
  context: EngineContext,
  trx: Knex.Transaction,
  fork: Fork,
  { id, tenant, actor }: Pick<NewRun, 'id' | 'tenant'> & { readonly actor: string | null },
  claim: () => Promise<void>,
): Promise<void> {
  const { stepContext } = context;
  const { why } = fork;
  const log = await readKeyedEvents(trx, fork.source.id, fork.upTo ?? null, fork.signal);
  const source = asLogged(fork.source, log);
  const run = pinnedOf(context, { ...fork, source }, { id, tenant });
  const at = fork.at(log);
  const plan = planFork(log, at, fork.edits);
  const files = fork.files ?? (await filesForFork(trx, { runId: source.id, seq: at, log, plan }));
  for (const [number, edit] of fork.edits.entries())
    assertEditFits(context, source.agent, plan, edit, `/edits/${number}`);
  const { turns, usage, segment } = plan;
  const model = fork.onward.model ?? source.model;
  const place = { runId: source.id, seq: at, recordedSeq: plan.events.length + 2 };
  await assertNotErasing(trx, tenant, await subjectsOf(trx, source.id));
  await insertRun(trx, { ...run, fork: { ...place, segment, turns, usage, model } });
  if (files !== null) await takeFiles(trx, files, { id, tenant, now: stepContext.now() });
  await claim();
  await createLog(trx, id, tenant, randomBytes(32).toString('hex'));
  const binding = rebindingOf(plan.events, id, run.policyVersion);
  await takeOver(trx, source.id, run, plan, binding);
  const event = await readEvent(trx, source.id, at);
  const requestedBy = [...new Set([...(await requestersOf(trx, source.id)), ...(actor === null ? [] : [actor])])];
  const forked: EventDraft = {
    key: fork.key ?? 'forked',
    parentKey: 'created',
    kind: 'run.forked',
    data: {
      ...{ runId: source.id, seq: at, hash: event?.hash ?? '', why, copied: plan.events.length, model },
      edits: toJson(fork.edits) as JsonObject[],
      ...(fork.repair === undefined ? {} : { repair: fork.repair }),
    },
  };
  const stamp = { at: isoNow(stepContext), worker: null };
  await appendEvents(trx, id, [createdEvent(run, requestedBy, givenIn(log)), forked], stamp);
  const copied = [...plan.events, ...noLongerStanding(plan.events)];
  for (let from = 0; from < copied.length; from += EVENTS_AT_ONCE) {
    await breathe(fork.signal);
    const copies = copied.slice(from, from + EVENTS_AT_ONCE).map((one) => rebound(one, binding));
    await appendEvents(trx, id, copies, { ...stamp, copied: true });
  }
  await stepContext.queue.enqueue(trx, [{ run: { ...run, task_id: run.taskId ?? null }, segment, band: 'new' }]);
}

/** What stands in the source allows nothing in the fork. */
function noLongerStanding(events: readonly EventDraft[]): EventDraft[] {
  const revoked = new Set(events.flatMap((one) => (one.kind === 'standing_decision.revoked' ? [one.data.id] : [])));
  return events.flatMap((one): EventDraft[] => {
    if (one.kind !== 'standing_decision.made' || revoked.has(one.data.id)) return [];
    const { id } = one.data;
    const parentKey = `standing:${id}`;
    return [
      { key: `${parentKey}:revoked`, parentKey, kind: 'standing_decision.revoked', data: { id, actor: SYSTEM_ACTOR } },
    ];
  });
}

type Pinned = NewRun & { readonly policyVersion: string };

/** What the fork is and may do, by its source, by what was asked for, and by its agent as it is now. */
function pinnedOf(context: EngineContext, { source, input, onward }: Fork, to: Pick<NewRun, 'id' | 'tenant'>): Pinned {
  const agent = agentNamed(context, source.agent);
  assertModelAllowed(agent, onward.model, source.model);
  const grants = effectiveGrants(agent.grants, source);
  // It is a budget of its own: what the source has spent is the source's.
  const budget = budgetOfRun(
    context.stepContext.budgets,
    { agent: agent.name, own: agent.limits.budget },
    limitsOf(source).budget,
  );
  return {
    ...{ ...to, agent: agent.name, agentVersion: agent.version, agentHash: agent.definitionHash },
    ...{ priority: source.priority, stream: source.stream, taskId: source.task_id },
    scaffold: agent.scaffold?.scaffold.name ?? null,
    ...{ grants: grantsToJson(grants), policyVersion: grants.policyVersion },
    input: input === undefined ? inputOf(source) : toJson(input),
    limits: {
      ...effectiveLimits(agent.limits, { ...given(limitsOf(source)), ...given(onward) }),
      ...(budget && { budget }),
    },
    metadata: onward.metadata === undefined ? metadataOf(source) : assertMetadata(onward.metadata),
  };
}

function createdEvent(run: Pinned, requestedBy: string[], { context, state, approvedPlan, labels }: Given): EventDraft {
  const { agent, agentVersion, agentHash, input, metadata, limits, policyVersion } = run;
  const { priority, stream = null, scaffold = null, taskId = null } = run;
  const pinned = { priority, stream, scaffold, taskId, timeLeftMs: null, ancestors: [] };
  const agentOf = { agent, agentVersion, agentHash };
  const data = {
    ...agentOf,
    input,
    metadata,
    limits,
    grants: [...run.grants],
    policyVersion,
    requestedBy,
    pinned,
    ...(context && { context }),
    ...(state && { state }),
    // It names the source, and allows nothing here.
    ...(approvedPlan && { approvedPlan }),
    ...(labels.length > 0 && { labels: [...labels] }),
  };
  return { key: 'created', parentKey: null, kind: 'run.created', data };
}

/** Gives the fork the rows of its source that its log names, bound to it. */
async function takeOver(
  trx: Knex.Transaction,
  from: string,
  { id, tenant }: Pinned,
  { events, segment, begun }: ForkPlan,
  binding: Rebinding,
): Promise<void> {
  const decided = events.flatMap(({ kind, data }) => (kind === 'interruption.decided' ? [data.id] : []));
  const made = events.flatMap(({ kind, data }) => (kind === 'standing_decision.made' ? [data.id] : []));
  const revoked = events.flatMap(({ kind, data }) => (kind === 'standing_decision.revoked' ? [data.id] : []));
  const servers = events.flatMap(({ kind, data }) => (kind === 'mcp.listed' ? [data.server] : []));
  await copyInterruptions(trx, { from, runId: id, segment }, binding, decided);
  await copyStanding(trx, id, binding, { made, revoked: new Set(revoked), by: SYSTEM_ACTOR });
  await copyCalls(trx, { from, to: id, tenant }, binding.digests, begun);
  await copyPins(trx, from, id, servers);
  await copySubjects(trx, from, id);
}

/** What is given, without what is null or left out. */
const given = (limits: Partial<Record<Exclude<keyof RunLimits, 'budget'>, number | null | undefined>>) =>
  Object.fromEntries(
    (['maxTurns', 'maxTotalTokens', 'maxDurationMs', 'maxElapsedMs'] as const).flatMap((name) =>
      typeof limits[name] === 'number' ? [[name, limits[name]]] : [],
    ),
  );

/** What the source holds, and never more than its agent holds by now: both must allow, the stricter decides. */
function effectiveGrants(agent: GrantSet, source: RunRow): GrantSet {
  const held = parseGrants(grantsOf(source), { allowEverything: true });
  const base = held.grants.filter(({ layer }) => layer === 0);
  if (digestOf(toJson(base)) === digestOf(toJson(agent.grants))) return held;
  const layers = held.layers.length;
  const present = agent.grants.map((grant) => ({ ...grant, layer: grant.layer + layers }));
  return parseGrants([...held.grants, ...present], { allowEverything: true });
}
