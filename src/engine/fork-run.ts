import { randomBytes } from 'node:crypto';
import { isoNow } from '../../steps/world.js';
import type { Caller } from '../core/caller.js';
import { HoldfastError } from '../core/errors.js';
import type { EventDraft } from '../core/event.js';
import { type ForkEdit, planFork, rebindingOf, rebound, retryPoint } from '../core/fork.js';
import {
  type ForkRun,
  forkRun as forkShape,
  type Onward,
  type RetryRun,
  retryRun as retryShape,
} from '../core/fork-request.js';
import { type GrantSet, grantsToJson, parseGrants } from '../core/grants.js';
import { digestOf, type JsonObject, toJson } from '../core/json.js';
import type { KeyedEvent } from '../core/recording.js';
import type { RunLimits, RunView } from '../core/run.js';
import { appendEvents, createLog, readEvents, readKeyedEvents } from '../storage/events.js';
import { type BegunCall, copyCalls, copyInterruptions } from '../storage/forks.js';
import { copyPins } from '../storage/mcp-lists.js';
import { findRun, grantsOf, inputOf, insertRun, limitsOf, metadataOf, type RunRow } from '../storage/runs.js';
import { invalidRequest } from './invalid-request.js';
import { agentNamed, type Parts } from './parts.js';
import { AlreadyStarted, assertMetadata, limitsUnder, takeKey, viewOf } from './start-run.js';

interface Fork {
  readonly why: 'fork' | 'retry';
  readonly source: RunRow;
  readonly log: readonly KeyedEvent[];
  readonly at: number;
  readonly input: unknown;
  readonly edits: readonly ForkEdit[];
  readonly asked: Onward;
  readonly fingerprint: string;
}

/** Makes a run that has the log of another one up to an event, with edits, and goes on live from there. */
export async function forkRun(
  parts: Parts,
  id: string,
  request: ForkRun,
  caller: Caller,
  idempotencyKey?: string,
): Promise<RunView> {
  const parsed = forkShape.safeParse(request);
  if (!parsed.success) throw invalidRequest(parsed.error);
  const { at, input, edits = [], ...asked } = parsed.data;
  const source = await sourceOf(parts, id, caller);
  const log = await readKeyedEvents(parts.world.knex, id, null);
  const fork = {
    source,
    log,
    at: seqOf(id, at),
    input,
    edits,
    asked,
    fingerprint: digestOf([id, toJson(parsed.data)]),
  };
  return make(parts, { why: 'fork', ...fork }, caller, idempotencyKey);
}

/** Goes on from the last good point of a failed run, in a run of its own. Throws `run_not_failed`. */
export async function retryRun(
  parts: Parts,
  id: string,
  request: RetryRun,
  caller: Caller,
  idempotencyKey?: string,
): Promise<RunView> {
  const parsed = retryShape.safeParse(request);
  if (!parsed.success) throw invalidRequest(parsed.error);
  const source = await sourceOf(parts, id, caller);
  if (source.status !== 'failed') throw new HoldfastError('run_not_failed', `Run ${id} is ${source.status}.`);
  const log = await readKeyedEvents(parts.world.knex, id, null);
  const fork = { source, log, at: retryPoint(log), input: undefined, edits: [], asked: parsed.data };
  const fingerprint = digestOf(['retry', id, toJson(parsed.data)]);
  return make(parts, { why: 'retry', ...fork, fingerprint }, caller, idempotencyKey);
}

async function sourceOf(parts: Parts, id: string, caller: Caller): Promise<RunRow> {
  const row = await findRun(parts.world.knex, caller.tenant, id);
  if (row === undefined) throw new HoldfastError('run_unknown', `There is no run ${JSON.stringify(id)}.`);
  return row;
}

function seqOf(runId: string, at: number | string): number {
  const text = String(at);
  const seq = text.startsWith(`${runId}:`) ? text.slice(runId.length + 1) : text;
  if (/^[1-9]\d{0,8}$/.test(seq)) return Number(seq);
  throw new HoldfastError(
    'fork_invalid',
    `${JSON.stringify(at)} is not an event of run ${runId}: give its number, or its id.`,
    {
      fields: [{ pointer: '/at', detail: `a whole number, or ${runId}:<number>` }],
    },
  );
}

async function make(parts: Parts, fork: Fork, caller: Caller, idempotencyKey?: string): Promise<RunView> {
  const { world } = parts;
  const { source, asked } = fork;
  const agent = agentNamed(parts, source.agent);
  for (const edit of fork.edits) assertFits(parts, fork.log, edit);
  const plan = planFork(fork.log, fork.at, fork.edits);
  const id = `run_${world.newId().replaceAll('-', '')}`;
  const grants = grantsUnder(agent.grants, source);
  const input = fork.input === undefined ? inputOf(source) : toJson(fork.input);
  const metadata = asked.metadata === undefined ? metadataOf(source) : assertMetadata(asked.metadata);
  const limits = limitsUnder(agent.limits, { ...given(limitsOf(source)), ...given(asked) });
  const binding = rebindingOf(plan.events, id, grants.policyVersion);
  const copies = plan.events.map((event) => rebound(event, binding));
  const { name, version, definitionHash } = agent;
  const created: EventDraft = {
    key: 'created',
    parentKey: null,
    kind: 'run.created',
    data: {
      ...{ agent: name, agentVersion: version, agentHash: definitionHash, input, metadata, limits },
      ...{ grants: grantsToJson(grants), policyVersion: grants.policyVersion },
    },
  };
  const [event] = await readEvents(world.knex, source.id, fork.at - 1, 1);
  const forked: EventDraft = {
    key: 'forked',
    parentKey: 'created',
    kind: 'run.forked',
    data: {
      ...{ runId: source.id, seq: fork.at, hash: event?.hash ?? '', why: fork.why, copied: copies.length },
      ...{ edits: toJson(fork.edits) as JsonObject[], model: asked.model ?? source.model },
    },
  };
  const decided = plan.events.flatMap((one) => (one.kind === 'interruption.decided' ? [one.data.id] : []));
  try {
    await world.knex.transaction(async (trx) => {
      await insertRun(trx, {
        ...{ id, tenant: caller.tenant, agent: name, agentVersion: version, agentHash: definitionHash },
        ...{ priority: source.priority, input, grants: grantsToJson(grants), limits, metadata, stream: source.stream },
        fork: {
          ...{ runId: source.id, seq: fork.at, recordedSeq: copies.length + 2, segment: plan.segment },
          ...{ turns: plan.turns, usage: plan.usage, model: asked.model ?? source.model },
        },
      });
      const { fingerprint } = fork;
      await takeKey(trx, { tenant: caller.tenant, operation: fork.why, key: idempotencyKey, fingerprint, runId: id });
      await createLog(trx, id, caller.tenant, randomBytes(32).toString('hex'));
      await appendEvents(trx, id, [created, forked, ...copies], { at: isoNow(world), worker: null });
      await copyInterruptions(trx, { runId: id, segment: plan.segment }, binding, decided);
      await copyCalls(trx, { from: source.id, to: id, tenant: caller.tenant }, binding.digests, begunIn(plan.events));
      await copyPins(trx, source.id, id, serversIn(plan.events));
      await world.queue.enqueue(trx, { runId: id, segment: plan.segment, priority: source.priority });
    });
  } catch (error) {
    if (!(error instanceof AlreadyStarted)) throw error;
    return viewOf(parts, caller, error.runId);
  }
  world.queue.wake();
  return viewOf(parts, caller, id);
}

/** What is given, without what is null or left out. */
const given = (limits: Partial<Record<keyof RunLimits, number | null | undefined>>) =>
  Object.fromEntries(
    (['maxTurns', 'maxTotalTokens', 'maxDurationMs'] as const).flatMap((name) =>
      typeof limits[name] === 'number' ? [[name, limits[name]]] : [],
    ),
  );

/** The MCP servers whose tools the run was given. */
const serversIn = (events: readonly EventDraft[]): string[] =>
  events.flatMap(({ kind, data }) => (kind === 'mcp.listed' ? [data.server] : []));

/** The calls that were begun, with the outcome that the log has of them. */
function begunIn(events: readonly EventDraft[]): ReadonlyMap<string, BegunCall> {
  const checked = new Map<string, BegunCall>();
  const begun = new Set<string>();
  for (const { kind, data } of events) {
    if (kind === 'call.checked') checked.set(data.callId, { outcome: null, ...checked.get(data.callId), call: data });
    if (kind === 'call.started') begun.add(data.callId);
    const before = kind === 'call.finished' ? checked.get(data.callId) : undefined;
    if (kind === 'call.finished' && before !== undefined)
      checked.set(data.callId, { ...before, outcome: data.outcome });
  }
  return new Map([...checked].filter(([callId]) => begun.has(callId)));
}

/** What the source holds, and never more than its agent holds by now: both must allow, the stricter decides. */
function grantsUnder(agent: GrantSet, source: RunRow): GrantSet {
  const held = parseGrants(grantsOf(source), { allowEverything: true });
  const base = held.grants.filter(({ layer }) => layer === 0);
  if (digestOf(toJson(base)) === digestOf(toJson(agent.grants))) return held;
  const layers = held.layers.length;
  const present = agent.grants.map((grant) => ({ ...grant, layer: grant.layer + layers }));
  return parseGrants([...held.grants, ...present], { allowEverything: true });
}

/** An outcome in place of a tool's must have the shape that the tool declares. */
function assertFits(parts: Parts, log: readonly KeyedEvent[], edit: ForkEdit): void {
  if (!('callId' in edit) || edit.outcome.type !== 'output') return;
  const finished = log.find(
    ({ kind, data }) => kind === 'call.finished' && (data as JsonObject | null)?.['callId'] === edit.callId,
  );
  const tool = String((finished?.data as JsonObject | undefined)?.['tool'] ?? '');
  const spec = [...parts.agents.values()].find((agent) => agent.toolSpecs.has(tool))?.toolSpecs.get(tool);
  const parsed = spec?.parseOutput(edit.outcome.output);
  if (parsed === undefined || parsed.ok) return;
  throw new HoldfastError('fork_invalid', `${tool} does not return the outcome of the edit: ${parsed.problem}`);
}
