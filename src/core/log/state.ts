import { z } from 'zod';
import { canonical, digestOf, sha256 } from '../json.js';
import { addUsage, NO_USAGE, RUN_STATUSES, type RunStatus, type Usage, usage } from '../runs/run.js';
import { type AgentState, agentState, applyChange } from '../tools/agent-state.js';
import type { EventData, EventKind } from './event.js';

/**
 * A run's state, folded purely from its events. It stays small however long a run gets: calls that are over are kept as a
 * count and a rolling digest.
 */
export interface RunState {
  readonly status: RunStatus | 'none';
  readonly segment: number;
  readonly turns: number;
  readonly usage: Usage;
  /** Calls that were checked and are not over, by call id. */
  readonly openCalls: {
    readonly [callId: string]: { readonly tool: string; readonly digest: string; readonly at: string };
  };
  readonly closedCalls: { readonly count: number; readonly digest: string };
  /** Interruptions that no one decided. */
  readonly pending: { readonly [id: string]: string };
  /** Rolling digest of everything that the model said. */
  readonly conversation: string;
  readonly cancelRequested: boolean;
  readonly result: string | null;
  /** What its tools keep there; absent: its agent declares none. */
  readonly agentState?: AgentState;
}

export const EMPTY_STATE: RunState = {
  status: 'none',
  segment: 0,
  turns: 0,
  usage: NO_USAGE,
  openCalls: {},
  closedCalls: { count: 0, digest: sha256('') },
  pending: {},
  conversation: sha256(''),
  cancelRequested: false,
  result: null,
};

/**
 * SHA-256 over the state in canonical JSON (RFC 8785). It is taken for every event that changes it, so that its members are written in
 * the order of their names here; what is in them came out of JSON.
 */
export function stateHash(state: RunState): string {
  const own = state.agentState === undefined ? '' : `"agentState":${textOfOwn(state.agentState)},`;
  const { cancelRequested, closedCalls, conversation, openCalls, pending, result, segment, status, turns, usage } =
    state;
  const text = JSON.stringify;
  return sha256(
    `{${own}"cancelRequested":${cancelRequested},"closedCalls":{"count":${closedCalls.count},"digest":${text(closedCalls.digest)}},` +
      `"conversation":${text(conversation)},"openCalls":${canonical(openCalls)},"pending":${canonical(pending)},` +
      `"result":${text(result)},"segment":${segment},"status":${text(status)},"turns":${turns},"usage":{` +
      `"inputTokens":${usage.inputTokens},"outputTokens":${usage.outputTokens},"totalTokens":${usage.totalTokens}}}`,
  );
}

/** Most events leave it as it is, and it may be long. */
const texts = new WeakMap<AgentState, string>();
function textOfOwn(own: AgentState): string {
  const text = texts.get(own) ?? canonical(own);
  texts.set(own, text);
  return text;
}

const roll = (digest: string, value: unknown): string => sha256(`${digest}\n${canonical(value)}`);

const without = <T>(record: { readonly [key: string]: T }, key: string): { readonly [key: string]: T } =>
  Object.fromEntries(Object.entries(record).filter(([name]) => name !== key));

type Fold = { readonly [K in EventKind]: (state: RunState, data: EventData<K>) => RunState };

const over = (state: RunState, status: RunStatus, result: unknown): RunState => ({
  ...state,
  status,
  pending: {},
  result: digestOf(result),
});

const markCall = (state: RunState, callId: string, at: string): RunState => {
  const call = state.openCalls[callId];
  return call === undefined ? state : { ...state, openCalls: { ...state.openCalls, [callId]: { ...call, at } } };
};

function changedBy(
  { agentState: own }: RunState,
  { outcome }: EventData<'call.finished'>,
): Pick<RunState, 'agentState'> {
  const change = outcome.type === 'output' ? outcome.state : undefined;
  return own === undefined || change === undefined ? {} : { agentState: applyChange(own, change) };
}

const FOLD: Fold = {
  'run.created': (state, data) => ({
    ...state,
    status: 'queued',
    conversation: roll(state.conversation, data.input),
    ...(data.state === undefined ? {} : { agentState: { version: 0, value: data.state } }),
  }),
  'session.loaded': (state) => state,
  'session.saved': (state) => state,
  'run.forked': (state) => state,
  'segment.started': (state, data) => ({ ...state, status: 'running', segment: data.segment }),
  'environment.prepared': (state) => state,
  'model.requested': (state) => state,
  'model.responded': (state, data) => ({
    ...state,
    turns: state.turns + 1,
    usage: addUsage(state.usage, data.usage),
    conversation: roll(state.conversation, data.output),
  }),
  'model.failed': (state) => state,
  'mcp.listed': (state) => state,
  'mcp.changed': (state) => state,
  'call.checked': (state, data) => ({
    ...state,
    openCalls: { ...state.openCalls, [data.callId]: { at: 'checked', digest: data.digest, tool: data.tool } },
  }),
  'call.started': (state, data) => markCall(state, data.callId, 'started'),
  'call.unknown': (state, data) => markCall(state, data.callId, 'unknown'),
  'call.finished': (state, data) => ({
    ...state,
    openCalls: without(state.openCalls, data.callId),
    closedCalls: { count: state.closedCalls.count + 1, digest: roll(state.closedCalls.digest, data) },
    ...changedBy(state, data),
  }),
  'child.started': (state) => state,
  'child.ended': (state, data) => ({ ...state, usage: addUsage(state.usage, data.usage) }),
  'interruption.requested': (state, data) => ({ ...state, pending: { ...state.pending, [data.id]: data.kind } }),
  'interruption.voted': (state) => state,
  'interruption.decided': (state, data) => ({ ...state, pending: without(state.pending, data.id) }),
  'standing_decision.made': (state) => state,
  'standing_decision.revoked': (state) => state,
  'run.paused': (state) => ({ ...state, status: 'paused' }),
  'segment.cut': (state) => ({ ...state, status: 'queued' }),
  'segment.rebuilt': (state, data) => ({ ...state, segment: data.segment }),
  'run.cancel_requested': (state) => ({ ...state, cancelRequested: true }),
  'task.verified': (state) => state,
  'run.completed': (state, data) => over(state, 'completed', data.output),
  'run.failed': (state, data) => over(state, 'failed', data.error.code),
  'run.cancelled': (state, data) => over(state, 'cancelled', data.reason),
};

/** The state after one event. Pure: the same state and event always give the same state. */
export function fold<K extends EventKind>(state: RunState, kind: K, data: EventData<K>): RunState {
  return FOLD[kind](state, data);
}

/** The folded state, as docs/events.md describes it. */
const runState = z.object({
  status: z.enum(['none', ...RUN_STATUSES]),
  segment: z.int(),
  turns: z.int(),
  usage,
  openCalls: z
    .record(z.string(), z.object({ tool: z.string(), digest: z.string(), at: z.string() }))
    .describe('Calls that were checked and are not over, by call id.'),
  closedCalls: z.object({ count: z.int(), digest: z.string() }),
  pending: z.record(z.string(), z.string()).describe('Interruptions that no one decided: their kinds, by id.'),
  conversation: z.string().describe('Rolling digest of everything that the model said.'),
  cancelRequested: z.boolean(),
  result: z.string().nullable(),
  agentState: agentState.exactOptional().describe('The [state](agents/state.md) of its agent, if it declares one.'),
});

/** The state of a run after one of its events. */
export const stateAt = z
  .object({
    runId: z.string(),
    seq: z.int(),
    folded: z.int().describe('So many events were folded; those before were taken from a state that was kept.'),
    state: runState,
    stateHash: z.string(),
    hash: z.string().describe('Hash of the event.'),
  })
  .meta({ id: 'StateAt' });
export type StateAt = z.infer<typeof stateAt>;
