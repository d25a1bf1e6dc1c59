/**
 * Everything that happens to a run, as one union. The log, its stream, trajectories, the console and the tests read it.
 * Data of an event holds nothing that differs between two executions of the same thing: no time, worker or attempt.
 */
import { z } from 'zod';
import { scaffoldName, stepNote } from '../agents/scaffold-step.js';
import { startedChild } from '../agents/sub-agent.js';
import { answerCost, type Charge } from '../budgets/charge.js';
import { always, argumentEdit, interruptionReason } from '../interruptions/interruption.js';
import { waitSpec } from '../interruptions/wait.js';
import { jsonObject, jsonValue } from '../json.js';
import { route } from '../routing/route.js';
import { errorView, runLimits, usage } from '../runs/run.js';
import { taskVerified } from '../tasks/task-reward.js';

const turn = z.int().min(1);
const callId = z.string();
const tool = z.string();

/** Digests of what a provider is sent beside instructions and items; a part that says nothing is left out. */
const requestTerms = z.object({
  tools: z.string().describe('Of tools and handoffs: names, descriptions and schemas.').exactOptional(),
  settings: z.string().describe('Of the model settings.').exactOptional(),
  output: z.string().describe('Of the schema of the answer, where it is not text.').exactOptional(),
  prompt: z.string().describe('Of a prompt or conversation that the provider keeps.').exactOptional(),
});

/** What one capability check said, and by which rule. */
export const capabilityCheck = z.object({
  capability: z.string().describe('As asked for, normalised.'),
  effect: z.enum(['allow', 'ask', 'deny']),
  rule: z.string().nullable().describe('The grant that decided; null when none matched.'),
  reason: z.string(),
});
export type CapabilityCheck = z.infer<typeof capabilityCheck>;

/** What a tool does to the world: src/core/tools/tool.ts. */
export const CALL_EFFECTS = ['pure', 'idempotent', 'unsafe'] as const;

/** How a call ended. `refused` means that its body never ran. */
export const callOutcome = z.discriminatedUnion('type', [
  z.object({ type: z.literal('output'), output: jsonValue }),
  z.object({ type: z.literal('error'), code: z.string(), message: z.string() }),
  z.object({
    type: z.literal('refused'),
    why: z.enum(['denied', 'rejected', 'expired', 'invalid_arguments', 'guardrail', 'cancelled']),
    message: z.string(),
  }),
]);
export type CallOutcome = z.infer<typeof callOutcome>;

/** Digest of the stored state that the next segment goes on from. Absent in logs of older builds. */
const keptState = z.string().exactOptional();

const DATA = {
  'run.created': z.object({
    agent: z.string(),
    agentVersion: z.string(),
    agentHash: z.string(),
    input: jsonValue,
    grants: z.array(jsonObject),
    policyVersion: z.string(),
    limits: runLimits,
    metadata: jsonObject,
    requestedBy: z.array(z.string()).exactOptional(),
    parent: z
      .object({ runId: z.string(), callId: z.string(), eventId: z.string(), notGranted: z.array(z.string()) })
      .exactOptional(),
    /** What else its row is made with. Absent in logs of older builds. */
    pinned: z
      .object({
        priority: z.int(),
        stream: z.boolean().nullable(),
        scaffold: z.string().nullable(),
        taskId: z.string().nullable(),
        timeLeftMs: z.number().nullable(),
        ancestors: z.array(z.string()),
      })
      .exactOptional(),
  }),
  'session.loaded': z.object({ sessionId: z.string(), items: z.int(), digest: z.string() }),
  'session.saved': z.object({ sessionId: z.string(), items: z.int(), digest: z.string() }),
  'run.forked': z.object({
    runId: z.string(),
    seq: z.int(),
    hash: z.string(),
    why: z.enum(['fork', 'retry', 'repair']),
    copied: z.int(),
    edits: z.array(jsonObject),
    model: z.string().nullable(),
    repair: z
      .object({
        seq: z.int(),
        invariant: z.string(),
        lostEvents: z.int(),
        accepted: z.array(z.string()),
        actor: z.string(),
      })
      .exactOptional(),
  }),
  'segment.started': z.object({ segment: z.int(), decisions: z.array(z.string()) }),
  'environment.prepared': z.object({ image: z.string(), scaffold: scaffoldName.nullable() }),
  'model.requested': z.object({
    turn,
    agent: z.string(),
    model: z.string(),
    inputItems: z.int(),
    inputDigest: z.string(),
    tools: z.array(z.string()),
    terms: requestTerms.exactOptional(),
  }),
  'model.responded': z.object({
    turn,
    agent: z.string(),
    model: z.string(),
    responseId: z.string().nullable(),
    output: z.array(jsonObject),
    usage,
    /** Why the answer ended. Absent where the model does not say, and in logs of older builds. */
    finishReason: z.string().exactOptional(),
    route: route.exactOptional(),
    cost: answerCost.exactOptional(),
  }),
  'model.failed': z.object({ turn, agent: z.string(), model: z.string(), error: errorView }),
  'mcp.listed': z.object({
    server: z.string(),
    digest: z.string(),
    tools: z.array(z.object({ tool: z.string(), digest: z.string() })),
  }),
  'mcp.changed': z.object({
    server: z.string(),
    changes: z.array(z.object({ tool: z.string(), change: z.enum(['changed', 'removed', 'added']) })),
  }),
  'call.checked': z.object({
    callId,
    tool,
    toolVersion: z.string(),
    effect: z.enum(CALL_EFFECTS),
    arguments: jsonValue,
    digest: z.string(),
    decision: z.enum(['allow', 'ask', 'deny', 'invalid']),
    checks: z.array(capabilityCheck),
    reason: z.string(),
    standingDecision: z.string().exactOptional(),
  }),
  'call.started': z.object({ callId, tool, effect: z.enum(CALL_EFFECTS) }),
  'call.unknown': z.object({ callId, tool, text: z.string() }),
  'call.finished': z.object({
    callId,
    tool,
    outcome: callOutcome,
    step: stepNote.exactOptional(),
    given: z.string().describe('Digest of the outcome that a guardrail or scaffold replaced.').exactOptional(),
  }),
  'child.started': startedChild.extend({ callId }),
  'child.ended': z.object({
    callId,
    childRunId: z.string(),
    status: z.enum(['completed', 'failed', 'cancelled']),
    usage,
    events: z.int(),
    stateHash: z.string(),
  }),
  'interruption.requested': z.object({
    id: z.string(),
    kind: z.string(),
    callId: callId.nullable(),
    tool: tool.nullable(),
    reason: interruptionReason,
    text: z.string(),
    digest: z.string(),
    expiresInMs: z.int().nullable(),
    wait: waitSpec.exactOptional(),
    requiredApprovals: z.int().exactOptional(),
    agent: z.string().exactOptional(),
    separateRequester: z.literal(true).exactOptional(),
  }),
  'interruption.voted': z.object({
    id: z.string(),
    vote: z.int().min(1),
    actor: z.string(),
    message: z.string().nullable(),
    digest: z.string(),
    edit: argumentEdit.exactOptional(),
    always: always.exactOptional(),
  }),
  'interruption.decided': z.object({
    id: z.string(),
    verdict: z.enum(['approve', 'reject', 'answer', 'expire', 'cancel']),
    actor: z.string(),
    message: z.string().nullable(),
    value: jsonValue,
    digest: z.string(),
    edit: argumentEdit.exactOptional(),
    always: always.exactOptional(),
  }),
  'standing_decision.made': z.object({
    id: z.string(),
    interruption: z.string(),
    agent: z.string(),
    tool,
    toolVersion: z.string(),
    scope: z.array(z.string()),
    exact: z.boolean(),
    actor: z.string(),
  }),
  'standing_decision.revoked': z.object({ id: z.string(), actor: z.string() }),
  'run.paused': z.object({ segment: z.int(), interruptions: z.array(z.string()), state: keptState }),
  'segment.cut': z.object({ segment: z.int(), turns: z.int(), state: keptState }),
  'segment.rebuilt': z.object({ segment: z.int(), from: z.int(), to: z.int() }),
  'run.cancel_requested': z.object({ actor: z.string(), reason: z.string().nullable() }),
  'task.verified': taskVerified,
  'run.completed': z.object({ output: jsonValue }),
  'run.failed': z.object({ error: errorView }),
  'run.cancelled': z.object({ reason: z.string().nullable() }),
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
