import { callDigest } from '../runs/call.js';
import type { EventData, EventKind } from './event.js';
import { type Fault, fault } from './invariant.js';
import type { RunState } from './state.js';

/** What the rules remember of the events before: ids, never payloads. */
export interface LogMemory {
  readonly runId: string;
  /** Whether it knows the log from its first event. Else nothing is said of what may have been before. */
  readonly whole: boolean;
  policyVersion: string | null;
  /** Digest of the plan that was approved before the run began; null: none was. */
  approvedPlan: string | null;
  /** The highest number of a segment; null: none has begun. */
  segment: number | null;
  /** The turn that a model was asked last and has not answered. */
  asked: number | null;
  /** Open calls whose last check is remembered. */
  readonly checks: Map<string, { readonly decision: string; readonly digest: string; begun: boolean }>;
  readonly ended: Set<string>;
  readonly approved: Set<string>;
  /** Interruptions that were asked for, with their digests. */
  readonly requested: Map<string, string>;
  readonly decided: Set<string>;
  readonly standing: Set<string>;
  readonly children: Set<string>;
}

/** The memory of a log that is read from its beginning, or (`state`) from somewhere within. */
export const memoryOf = (runId: string, state: RunState | null): LogMemory => ({
  ...{ runId, whole: state === null, policyVersion: null, approvedPlan: null, asked: null },
  segment: state === null || (state.status === 'queued' && state.turns === 0) ? null : state.segment,
  ...{ checks: new Map(), ended: new Set(), approved: new Set(), requested: new Map() },
  ...{ decided: new Set(), standing: new Set(), children: new Set() },
});

type Status = RunState['status'];

const ALIVE: readonly Status[] = ['queued', 'running', 'paused'];
const AT_WORK: readonly Status[] = ['running'];

/** In which status of the run an event of a kind may come. */
const WITHIN: { readonly [K in EventKind]: readonly Status[] } = {
  'run.created': ['none'],
  'session.loaded': ['queued'],
  'session.saved': AT_WORK,
  'run.forked': ['queued'],
  'segment.started': ['queued', 'paused'],
  'environment.prepared': AT_WORK,
  'model.requested': AT_WORK,
  'model.responded': AT_WORK,
  'model.failed': AT_WORK,
  'mcp.listed': AT_WORK,
  'mcp.changed': AT_WORK,
  'call.checked': AT_WORK,
  'call.started': AT_WORK,
  'call.unknown': AT_WORK,
  'call.finished': AT_WORK,
  'child.started': AT_WORK,
  'child.ended': ALIVE,
  'interruption.requested': AT_WORK,
  'interruption.voted': ALIVE,
  'interruption.decided': ALIVE,
  'standing_decision.made': ALIVE,
  'standing_decision.revoked': ALIVE,
  'run.paused': AT_WORK,
  'segment.cut': AT_WORK,
  'segment.rebuilt': AT_WORK,
  'run.cancel_requested': ALIVE,
  'task.verified': AT_WORK,
  'run.completed': AT_WORK,
  'run.failed': ALIVE,
  'run.cancelled': ALIVE,
};

type Rule<K extends EventKind> = (memory: LogMemory, data: EventData<K>, before: RunState) => Fault | null;

const nothing = (): null => null;

/** Looks whether a call is open, as the state before has it. */
function openCall(
  memory: LogMemory,
  { callId, tool }: { callId: string; tool?: string },
  before: RunState,
): Fault | null {
  const open = Object.hasOwn(before.openCalls, callId) ? before.openCalls[callId] : undefined;
  if (open === undefined) {
    if (memory.ended.has(callId)) return fault('call_once', `the call ${callId} was over before`);
    return fault('call_checked', `the call ${callId} was never checked`);
  }
  if (tool === undefined || tool === open.tool) return null;
  return fault('call_checked', `the call ${callId} was checked as one of ${open.tool}, not of ${tool}`);
}

const hasBegun = (before: RunState, callId: string): boolean =>
  Object.hasOwn(before.openCalls, callId) && before.openCalls[callId]?.at !== 'checked';

const notBegun = (callId: string): Fault => fault('call_intent', `the call ${callId} has not started`);

function checkedCall(memory: LogMemory, data: EventData<'call.checked'>): Fault | null {
  const { callId, tool, toolVersion, arguments: args, digest, decision, checks } = data;
  const { standingDecision: stands, approvedPlan: plan } = data;
  if (memory.ended.has(callId)) return fault('call_once', `the call ${callId} was over before`);
  const { runId, policyVersion } = memory;
  if (
    policyVersion !== null &&
    digest !== callDigest({ runId, callId, tool, toolVersion, arguments: args, policyVersion })
  )
    return fault('call_digest', `the digest of the call ${callId} is that of another call`);
  const held = checks.find(({ effect }) => effect !== 'allow');
  if (
    decision === 'allow' &&
    held !== undefined &&
    ((stands === undefined && plan === undefined) || held.effect === 'deny')
  )
    return fault('call_allowed', `the call ${callId} was allowed against its check of ${held.capability}`);
  if (stands !== undefined && memory.whole && !memory.standing.has(stands))
    return fault('decision_known', `the standing decision ${stands} was never made`);
  if (plan !== undefined && memory.whole && memory.approvedPlan !== plan.digest)
    return fault('call_allowed', `the plan ${plan.digest} was not approved for this run`);
  const begun = memory.checks.get(callId)?.begun ?? false;
  memory.checks.set(callId, { decision, digest, begun });
  return null;
}

function startedCall(memory: LogMemory, data: EventData<'call.started'>, before: RunState): Fault | null {
  const open = openCall(memory, data, before);
  if (open !== null) return open;
  const check = memory.checks.get(data.callId);
  // Its check was before what is remembered.
  if (check === undefined) return null;
  // One that was begun goes on: what allowed its beginning covers it.
  const asked = check.decision === 'ask' && (check.begun || memory.approved.has(check.digest));
  if (check.decision !== 'allow' && !asked && (memory.whole || check.decision !== 'ask'))
    return fault('call_allowed', `the call ${data.callId} was checked as ${check.decision} and no one approved it`);
  check.begun = true;
  return null;
}

function finishedCall(memory: LogMemory, data: EventData<'call.finished'>, before: RunState): Fault | null {
  const open = openCall(memory, data, before);
  if (open !== null) return open;
  if (data.outcome.type !== 'refused' && !hasBegun(before, data.callId)) return notBegun(data.callId);
  memory.checks.delete(data.callId);
  memory.ended.add(data.callId);
  return null;
}

function startedSegment(memory: LogMemory, { segment, decisions }: EventData<'segment.started'>): Fault | null {
  const rising = nextSegment(memory, segment);
  if (rising !== null || !memory.whole) return rising;
  const unknown = decisions.find((id) => !memory.decided.has(id));
  return unknown === undefined ? null : fault('decision_known', `the interruption ${unknown} was not decided before`);
}

function nextSegment(memory: LogMemory, segment: number): Fault | null {
  if (memory.segment !== null && segment <= memory.segment)
    return fault('segment_order', `segment ${segment} comes after segment ${memory.segment}`);
  memory.segment = segment;
  return null;
}

const endsSegment = (segment: number, before: RunState): Fault | null =>
  segment === before.segment
    ? null
    : fault('segment_order', `segment ${segment} ends where segment ${before.segment} works`);

function requested(memory: LogMemory, turn: number, before: RunState): Fault | null {
  memory.asked = turn;
  return turn === before.turns + 1
    ? null
    : fault('turn_order', `turn ${turn} is asked for after ${before.turns} that were answered`);
}

function answered(memory: LogMemory, turn: number, before: RunState): Fault | null {
  const asked = memory.asked ?? (memory.whole ? null : before.turns + 1);
  memory.asked = null;
  return turn === asked ? null : fault('turn_order', `turn ${turn} is answered, and ${asked ?? 'none'} was asked for`);
}

function asked(memory: LogMemory, { id, digest }: EventData<'interruption.requested'>): Fault | null {
  if (memory.requested.has(id)) return fault('interruption_once', `the interruption ${id} was asked for before`);
  memory.requested.set(id, digest);
  return null;
}

function said(
  memory: LogMemory,
  { id, digest }: { readonly id: string; readonly digest: string },
  before: RunState,
): Fault | null {
  if (!Object.hasOwn(before.pending, id)) {
    const why = memory.decided.has(id) ? 'was decided before' : 'was never asked for';
    return fault('interruption_once', `the interruption ${id} ${why}`);
  }
  const bound = memory.requested.get(id);
  if (bound === undefined || bound === digest) return null;
  return fault('decision_bound', `the decision on ${id} has the digest of something else than was asked for`);
}

function decided(memory: LogMemory, data: EventData<'interruption.decided'>, before: RunState): Fault | null {
  const wrong = said(memory, data, before);
  if (wrong !== null) return wrong;
  memory.decided.add(data.id);
  if (data.verdict === 'approve') memory.approved.add(data.edit?.digest ?? data.digest);
  return null;
}

function made(memory: LogMemory, { id, interruption }: EventData<'standing_decision.made'>): Fault | null {
  memory.standing.add(id);
  if (!memory.whole || memory.decided.has(interruption)) return null;
  return fault('decision_known', `the interruption ${interruption} was not decided before`);
}

const RULES: { readonly [K in EventKind]: Rule<K> } = {
  'run.created': (memory, { policyVersion, approvedPlan }) => {
    memory.policyVersion = policyVersion;
    memory.approvedPlan = approvedPlan?.digest ?? null;
    return null;
  },
  'session.loaded': nothing,
  'session.saved': nothing,
  'run.forked': nothing,
  'segment.started': startedSegment,
  'environment.prepared': nothing,
  'model.requested': (memory, { turn }, before) => requested(memory, turn, before),
  'model.responded': (memory, { turn }, before) => answered(memory, turn, before),
  'model.failed': (memory, { turn }, before) => answered(memory, turn, before),
  'mcp.listed': nothing,
  'mcp.changed': nothing,
  'call.checked': checkedCall,
  'call.started': startedCall,
  'call.unknown': (memory, data, before) =>
    openCall(memory, data, before) ?? (hasBegun(before, data.callId) ? null : notBegun(data.callId)),
  'call.finished': finishedCall,
  'child.started': (memory, { callId, childRunId }, before) => {
    memory.children.add(childRunId);
    return openCall(memory, { callId }, before) ?? (hasBegun(before, callId) ? null : notBegun(callId));
  },
  'child.ended': (memory, { childRunId }) =>
    !memory.whole || memory.children.has(childRunId)
      ? null
      : fault('child_known', `the run ${childRunId} was not started by a call of this log`),
  'interruption.requested': asked,
  'interruption.voted': said,
  'interruption.decided': decided,
  'standing_decision.made': made,
  'standing_decision.revoked': (memory, { id }) =>
    !memory.whole || memory.standing.has(id)
      ? null
      : fault('decision_known', `the standing decision ${id} was never made`),
  'run.paused': (_memory, { segment, interruptions }, before) => {
    const unasked = interruptions.find((id) => !Object.hasOwn(before.pending, id));
    if (unasked !== undefined)
      return fault('interruption_once', `the run waits for ${unasked}, which was never asked for or was decided`);
    return endsSegment(segment, before);
  },
  'segment.cut': (_memory, { segment }, before) => endsSegment(segment, before),
  'segment.rebuilt': (memory, { segment }) => nextSegment(memory, segment),
  'run.cancel_requested': nothing,
  'task.verified': nothing,
  'run.completed': nothing,
  'run.failed': nothing,
  'run.cancelled': (_memory, _data, before) =>
    before.cancelRequested ? null : fault('state_transition', 'the run is cancelled, and no one asked for it'),
};

/** What is wrong with an event at its place in the log, by what it says; remembers it. `before` is the state before it. */
export function ruleBroken<K extends EventKind>(
  memory: LogMemory,
  kind: K,
  data: EventData<K>,
  before: RunState,
): Fault | null {
  if (!WITHIN[kind].includes(before.status))
    return fault(
      'state_transition',
      `${kind} cannot come while the run is ${before.status === 'none' ? 'not created' : before.status}`,
    );
  return RULES[kind](memory, data, before);
}
