/**
 * Everything that happens to a run, as one union. The log, its stream, trajectories, the console and the tests read it.
 * Data of an event holds nothing that differs between two executions of the same thing: no time, worker or attempt.
 */
import { z } from 'zod';
import { scaffoldName, stepNote } from '../agents/scaffold.js';
import { startedChild } from '../agents/sub-agent.js';
import { answerCost, type Charge } from '../budgets/charge.js';
import { always, argumentEdit, interruptionReason } from '../interruptions/interruption.js';
import { waitSpec } from '../interruptions/wait.js';
import { jsonObject, jsonValue } from '../json.js';
import { route } from '../routing/route.js';
import { approvedPlan, runLimits, usage } from '../runs/run.js';
import { contextChange } from '../runs/run-context.js';
import { leftArtifacts, taskVerified } from '../tasks/task-reward.js';
import { trustLabel } from '../tools/tool-memory.js';
import { CALL_EFFECTS, callOutcome } from './call-outcome.js';
import { changedFiles, endContext, failedBy, keptState, requestTerms } from './event-fields.js';

const turn = z.int().min(1);
const callId = z.string();
const tool = z.string();
const cancelReason = z.string().nullable().describe('Reason of the request; null = none.');

/** What one capability check said, and the rule that decided. */
export const capabilityCheck = z.object({
  capability: z.string().describe('As asked for, normalised.'),
  effect: z.enum(['allow', 'ask', 'deny']),
  rule: z.string().nullable().describe('The grant that decided; null when none matched.'),
  reason: z.string(),
});
export type CapabilityCheck = z.infer<typeof capabilityCheck>;

const DATA = {
  'run.created': z.object({
    agent: z.string().describe('Name of the agent.'),
    agentVersion: z.string().describe('Version of its definition.'),
    agentHash: z.string().describe('Hash of its definition, which is in the table `agents`.'),
    input: jsonValue.describe('Input of the run, after the items of its session.'),
    grants: z.array(jsonObject).describe('Grants of the run, as stored.'),
    policyVersion: z.string().describe('SHA-256 over the grants.'),
    limits: runLimits.describe('Limits of turns, tokens, time and money.'),
    metadata: jsonObject.describe('Metadata of the request.'),
    context: jsonObject.exactOptional().describe('The [context](agents/context.md) that the run was given, if any.'),
    state: jsonObject.exactOptional().describe('The first [state](agents/state.md), if its agent declares one.'),
    labels: z.array(trustLabel).exactOptional().describe('[Labels](agents/trust.md) of the run above or the session.'),
    approvedPlan: approvedPlan
      .exactOptional()
      .describe(
        'Only of a run of a [plan that an agent proposed](agents/proposed-plans.md), if people approved it: `{runId, digest, by}`.',
      ),
    requestedBy: z
      .array(z.string())
      .exactOptional()
      .describe(
        'Actors that [asked for](approvals/README.md#separate-requester) the run, its source, or a run above it.',
      ),
    parent: z
      .object({ runId: z.string(), callId: z.string(), eventId: z.string(), notGranted: z.array(z.string()) })
      .exactOptional()
      .describe(
        'Only of a run that a call started: its run, call and `call.checked`, and what the parent may not pass on.',
      ),
    pinned: z
      .object({
        priority: z.int(),
        stream: z.boolean().nullable(),
        scaffold: z.string().nullable(),
        taskId: z.string().nullable(),
        timeLeftMs: z.number().nullable(),
        ancestors: z.array(z.string()),
      })
      .exactOptional()
      .describe('Other columns that the row of the run starts with. Absent in logs of older builds.'),
  }),
  'session.loaded': z.object({
    sessionId: z.string().describe('Session.'),
    items: z.int().describe('Number of items of `input` that came from the session.'),
    digest: z.string().describe('SHA-256 over these items.'),
  }),
  'session.saved': z.object({
    sessionId: z.string().describe('Session.'),
    items: z.int().describe('Number of items that the run added to the session.'),
    digest: z.string().describe('SHA-256 over these items.'),
  }),
  'run.forked': z.object({
    runId: z.string().describe('Source run.'),
    seq: z.int().describe('Number of the last event of the source that was taken over.'),
    hash: z.string().describe('Hash of that event.'),
    why: z.enum(['fork', 'retry', 'repair']).describe('`retry` also stands for a further attempt of a task.'),
    copied: z.int().describe('Number of copied events that follow, with ids and digests of the fork.'),
    edits: z.array(jsonObject).describe('Edits of the request, which the copied events contain.'),
    model: z.string().nullable().describe("Model that replaces the agents' models; null = none."),
    repair: z
      .object({
        seq: z.int(),
        invariant: z.string(),
        lostEvents: z.int(),
        accepted: z.array(z.string()),
        actor: z.string(),
      })
      .exactOptional()
      .describe(
        'Only of a [repair](evidence/repair.md): the broken event, its invariant, the number of lost events, the lost calls that may repeat, and the actor.',
      ),
  }),
  'segment.started': z.object({
    segment: z.int().describe('Number of the segment.'),
    decisions: z.array(z.string()).describe('Ids of the decided interruptions that the segment starts from.'),
  }),
  'environment.prepared': z.object({
    image: z.string().describe('Image of the container.'),
    scaffold: scaffoldName.nullable().describe('`{name, version}` of the scaffold that prepared it; null = none.'),
  }),
  'model.requested': z.object({
    turn: turn.describe('Number of the turn.'),
    agent: z.string().describe('Agent that asks.'),
    model: z.string().describe('Name that the provider is asked for; with a model object, the name of the agent.'),
    inputItems: z.int().describe('Number of items that the model is shown.'),
    inputDigest: z
      .string()
      .describe(
        'SHA-256 over the instructions and the items that the turn before did not show; over all items if a scaffold chooses them.',
      ),
    tools: z.array(z.string()).describe('Names of the tools and handoffs on offer. Older builds omit handoffs.'),
    terms: requestTerms
      .exactOptional()
      .describe(
        'SHA-256 over the canonical JSON of `tools` (definitions), `settings`, `output` (schema) and `prompt` (kept by the provider); empty parts are left out. Absent in logs of older builds.',
      ),
  }),
  'model.responded': z.object({
    turn: turn.describe('Number of the turn.'),
    agent: z.string().describe('Agent that asked.'),
    model: z.string().describe('As in `model.requested`.'),
    responseId: z.string().nullable().describe('Id that the provider gave the response; null = none.'),
    output: z.array(jsonObject).describe('Items of the response, in the format of the Agents SDK.'),
    usage: usage.describe('`{inputTokens, outputTokens, totalTokens}`.'),
    finishReason: z
      .string()
      .exactOptional()
      .describe(
        'Why the answer ended: `stop`, `tool_calls`, `length`, `content_filter`, or as the provider said it. Absent if the model does not say, and in logs of older builds.',
      ),
    route: route
      .exactOptional()
      .describe(
        'Only if a [router](models/routing.md) chose the model: `{router, strategy, arm, model, attempts, through}`. `attempts` has `{model, outcome}` of each that was asked or passed over; `arm` is that of an experiment; `through` names routers within the router.',
      ),
    cost: answerCost
      .exactOptional()
      .describe(
        '[Cost](models/budgets.md) as `{usd, price}`; both null if no price is known. Absent in logs of builds without prices.',
      ),
  }),
  'model.failed': z.object({
    turn: turn.describe('Number of the turn.'),
    agent: z.string().describe('Agent that asked.'),
    model: z.string().describe('As in `model.requested`.'),
    error: failedBy,
  }),
  'mcp.listed': z.object({
    server: z.string().describe('Name of the MCP server.'),
    digest: z.string().describe('Digest of the definitions, which are in the table `mcp_lists`.'),
    tools: z.array(z.object({ tool: z.string(), digest: z.string() })).describe('`{tool, digest}` of each tool.'),
  }),
  'mcp.changed': z.object({
    server: z.string().describe('Name of the MCP server.'),
    changes: z
      .array(z.object({ tool: z.string(), change: z.enum(['changed', 'removed', 'added']) }))
      .describe('`{tool, change}` of each difference: `changed`, `removed` or `added`.'),
  }),
  'call.checked': z.object({
    callId: callId.describe(
      'Id that the model gave. The run makes it unique if it is missing, repeated, or longer than 256 characters.',
    ),
    tool: tool.describe('Name of the tool.'),
    toolVersion: z.string().describe('Version of the tool.'),
    effect: z
      .enum(CALL_EFFECTS)
      .describe('[Effect](agents/tools.md) that the tool declares: `pure`, `idempotent` or `unsafe`.'),
    arguments: jsonValue.describe('Arguments of the call.'),
    digest: z
      .string()
      .describe(
        'SHA-256 over run, call id, tool, tool version, arguments and policy version. A decision is bound to it.',
      ),
    decision: z
      .enum(['allow', 'ask', 'deny', 'invalid'])
      .describe('`ask` waits for an approval; `invalid`: the arguments do not fit the tool.'),
    checks: z
      .array(capabilityCheck)
      .describe(
        '`{capability, effect, rule, reason}` of each capability that the call needs; `rule` is the deciding grant, or null.',
      ),
    reason: z.string().describe('The decision in words.'),
    standingDecision: z
      .string()
      .exactOptional()
      .describe('Id of the standing decision that approves the call; absent without one.'),
    approvedPlan: approvedPlan
      .omit({ runId: true })
      .exactOptional()
      .describe(
        'The [approved plan](agents/proposed-plans.md) that the call is of, as `{digest, by}`, if it needs an approval.',
      ),
  }),
  'call.started': z.object({
    callId: callId.describe('Call.'),
    tool: tool.describe('Name of the tool.'),
    effect: z.enum(CALL_EFFECTS).describe('As in `call.checked`.'),
  }),
  'call.unknown': z.object({
    callId: callId.describe('Call.'),
    tool: tool.describe('Name of the tool.'),
    text: z.string().describe('What a person reads about it.'),
  }),
  'call.finished': z.object({
    callId: callId.describe('Call.'),
    tool: tool.describe('Name of the tool.'),
    outcome: callOutcome.describe(
      '`{type: "output", output}`, `{type: "error", code, message}`, or `{type: "refused", why, message}`. The body of a refused call never ran, unless the tool asked for a capability while it worked and was denied it. `why`: `denied`, `rejected`, `expired`, `invalid_arguments` or `guardrail` (`cancelled` is reserved).',
    ),
    step: stepNote
      .exactOptional()
      .describe('Only if a scaffold shaped the outcome: `{actionTaken, reward, done, info}`.'),
    context: contextChange
      .exactOptional()
      .describe(
        'The [context](agents/context.md) of the run after the call, only if it changed. The highest `version` counts.',
      ),
    workspace: changedFiles,
    given: z
      .string()
      .exactOptional()
      .describe('SHA-256 of the outcome that the tool gave, only if a guardrail or scaffold replaced it.'),
  }),
  'child.started': startedChild.extend({ callId: callId.describe('Call that started the run.') }),
  'child.ended': z.object({
    callId: callId.describe('Call that started the run.'),
    childRunId: z.string().describe('Run that ended.'),
    status: z.enum(['completed', 'failed', 'cancelled']).describe('How it ended.'),
    usage: usage.describe('Tokens that it used.'),
    events: z.int().describe('Number of events in its log.'),
    stateHash: z.string().describe('Hash of the state after the last of them.'),
  }),
  'interruption.requested': z.object({
    id: z.string().describe('Interruption.'),
    kind: z.string().describe('`approval`, `question`, `timer`, `event`, `child_run` or `budget`.'),
    callId: callId.nullable().describe('Call that waits; null for a budget.'),
    tool: tool.nullable().describe('Name of its tool; null for a budget.'),
    reason: interruptionReason.describe(
      'Of an approval: `tool_rule`, `grant_ask` or `unknown_effect`. Otherwise the same as `kind`.',
    ),
    text: z.string().describe('What a person reads.'),
    digest: z.string().describe('What a decision is bound to.'),
    expiresInMs: z
      .int()
      .nullable()
      .describe('Time until the interruption expires; null = no timeout of its own. `wait` has the time of a timer.'),
    wait: waitSpec
      .exactOptional()
      .describe(
        'What the call [waits for](approvals/waiting.md), or the [budget](models/budgets.md#without-room) without room. Absent for approvals.',
      ),
    memo: z.string().nullable().exactOptional().describe('SHA-256 of its memo; null = none. Absent in older logs.'),
    requiredApprovals: z.int().exactOptional().describe('Number of approvals needed, only if more than 1.'),
    agent: z.string().exactOptional().describe('Agent that made the call. Absent in logs of older builds.'),
    separateRequester: z
      .literal(true)
      .exactOptional()
      .describe('Only if true: the actor that asked for the run may not approve.'),
  }),
  'interruption.voted': z.object({
    id: z.string().describe('Interruption.'),
    vote: z.int().min(1).describe('Number of the vote: 1, 2, 3 …'),
    actor: z.string().describe('Actor that approved.'),
    message: z.string().nullable().describe('Message of the actor; null = none.'),
    digest: z.string().describe('`digest` of the interruption.'),
    edit: argumentEdit.exactOptional().describe('As in `interruption.decided`.'),
    always: always.exactOptional().describe('As in `interruption.decided`.'),
  }),
  'interruption.decided': z.object({
    id: z.string().describe('Interruption.'),
    verdict: z.enum(['approve', 'reject', 'answer', 'expire', 'cancel']).describe('`expire` is by `holdfast`.'),
    actor: z.string().describe('Actor that decided.'),
    message: z.string().nullable().describe('Message of the actor; null = none.'),
    value: jsonValue.describe('Answer to a question; `{limitUsd}` where a budget was raised; otherwise null.'),
    digest: z.string().describe('`digest` of the interruption: that of the call as it was asked for.'),
    edit: argumentEdit
      .exactOptional()
      .describe(
        'Only if arguments were edited: `{arguments, difference, digest}`. `difference` is a JSON Patch (RFC 6902) from the arguments of the interruption; `digest` is that of the call that runs.',
      ),
    always: always.exactOptional().describe('Only if the approval holds for later calls: `true`, or `{scope}`.'),
  }),
  'standing_decision.made': z.object({
    id: z.string().describe('Standing decision.'),
    interruption: z.string().describe('Interruption that was approved.'),
    agent: z.string().describe('Agent whose calls it covers.'),
    tool: tool.describe('Tool whose calls it covers.'),
    toolVersion: z.string().describe('Version of the tool.'),
    scope: z.array(z.string()).describe('Capabilities that it covers.'),
    exact: z.boolean().describe('Whether the capabilities are literal; otherwise they are written like grants.'),
    actor: z.string().describe('Actor that approved.'),
  }),
  'standing_decision.revoked': z.object({
    id: z.string().describe('Standing decision.'),
    actor: z.string().describe('Actor that revoked it; `holdfast` at the start of a fork.'),
  }),
  'run.paused': z.object({
    segment: z.int().describe('Number of the segment.'),
    interruptions: z.array(z.string()).describe('Ids of the interruptions that the run waits for.'),
    state: keptState,
    context: endContext,
  }),
  'segment.cut': z.object({
    segment: z.int().describe('Number of the segment.'),
    turns: z.int().describe('Turns of the run so far.'),
    state: keptState,
    context: endContext,
  }),
  'segment.rebuilt': z.object({
    segment: z
      .int()
      .describe(
        'Number under which the segment resumes, without a `segment.started`. What the log already has of it is neither executed nor logged again.',
      ),
    from: z.int().describe('Recording version of the build that began the segment.'),
    to: z.int().describe('Recording version of the build that resumes it.'),
  }),
  'run.cancel_requested': z.object({
    actor: z.string().describe('Actor that asked.'),
    reason: z.string().nullable().describe('Reason of the actor; null = none.'),
  }),
  'task.verified': taskVerified,
  'run.completed': z.object({ output: jsonValue.describe('Output of the run.') }),
  'run.failed': z.object({ error: failedBy, artifacts: leftArtifacts }),
  'run.cancelled': z.object({ reason: cancelReason, artifacts: leftArtifacts }),
} as const;

export type EventKind = keyof typeof DATA;
export const EVENT_KINDS = Object.keys(DATA) as readonly EventKind[];
export const EVENT_DATA: { readonly [K in EventKind]: z.ZodType<EventData<K>> } = DATA;
export type EventData<K extends EventKind> = z.infer<(typeof DATA)[K]>;

/** What the writer of a log gets: `key` is natural, so that writing it a second time writes nothing. */
export type EventDraft = {
  readonly [K in EventKind]: {
    readonly key: string;
    /** Key of the event that caused this one; null for the first. */
    readonly parentKey: string | null;
    readonly kind: K;
    readonly data: EventData<K>;
    /** What is paid for it: rows that are written with the event, and no part of it. */
    readonly charges?: readonly Charge[];
    /** Milliseconds that this process executed the step whose end it tells; no part of the event. Absent: it did not. */
    readonly tookMs?: number;
  };
}[EventKind];

/** The terminal kinds: a complete log ends with exactly one of them. */
export const TERMINAL_KINDS: ReadonlySet<string> = new Set<EventKind>(['run.completed', 'run.failed', 'run.cancelled']);

/** One event of a log, format v1. docs/decisions/0001-event-format.md explains every field. */
export const runEvent = z
  .object({
    id: z.string().describe('`<runId>:<seq>`.'),
    v: z.literal(1).describe('Format: 1.'),
    runId: z.string().describe('Run.'),
    tenant: z.string().describe('Tenant of the run.'),
    seq: z.int().min(1).describe('The logical time: 1, 2, 3 … without a gap.'),
    parentId: z
      .string()
      .nullable()
      .describe('The event that this one follows from, which may be older than the one before; null for the first.'),
    kind: z.string().describe('One of the kinds below.'),
    at: z.iso
      .datetime()
      .describe(
        'When it was written, in UTC with milliseconds, as `2026-01-31T09:30:00.000Z`. Events that are written together have one time, and no event is earlier than the one before; order is `seq`, never `at`.',
      ),
    data: jsonValue.describe('Payload; null when it was erased.'),
    dataHash: z.string().describe('Commitment to the payload.'),
    stateVersion: z.int().describe('The same number as `seq`.'),
    stateHashBefore: z.string().describe('Hash of the state before the event.'),
    stateHashAfter: z.string().describe('Hash of the state after it.'),
    prevHash: z.string().describe('`hash` of the event before; of the first event: the genesis hash.'),
    hash: z.string().describe('Hash of the event.'),
  })
  .meta({ id: 'Event' });
export type RunEvent = z.infer<typeof runEvent>;

/** What an event tells, without what only proves it. */
export type ToldEvent = Pick<
  RunEvent,
  'seq' | 'kind' | 'at' | 'data' | 'stateVersion' | 'stateHashBefore' | 'stateHashAfter' | 'hash'
>;
