import {
  type Agent,
  type AgentInputItem,
  type ModelRequest,
  protocol,
  RunHandoffCallItem,
  RunHandoffOutputItem,
  type RunItem,
  RunMessageOutputItem,
  RunReasoningItem,
  type RunState,
  RunToolApprovalItem,
  RunToolCallItem,
  RunToolCallOutputItem,
} from '@openai/agents';
import { z } from 'zod';
import { itemsOfInput } from '../../src/core/agents/session.js';
import { HoldfastError } from '../../src/core/errors/errors.js';
import { type JsonObject, toJson } from '../../src/core/json.js';
import { findReachableAgent } from '../../src/tools/define/reachable-agents.js';
import {
  endedCalls,
  firstOfLastResponse,
  generatedItems,
  originalInput,
  setEndedCalls,
  setGeneratedItems,
  startWithItems,
  workingAgent,
} from '../sdk/sdk-internals.js';

/**
 * Turns that are over, taken out of a state while its agent works. In each turn the SDK copies, writes as text and compares
 * everything that came before, so that a turn would cost more the longer a run gets. It gets the last two,
 * and the model reads those before them in front.
 */

type State = RunState<unknown, Agent>;

export interface TrimmedHistory {
  readonly originalInput: ReturnType<typeof originalInput>;
  readonly past: PastItem[];
  /** What of both the model reads. */
  readonly shown: AgentInputItem[];
  /** How much of that the run began with. */
  readonly givenItems: number;
  /** What is known of `shown` by its id. */
  readonly ids: Set<string>;
}

const hidden = new WeakMap<State, TrimmedHistory>();

export const trimmedHistory = (state: State | null): TrimmedHistory | undefined =>
  state === null ? undefined : hidden.get(state);

/** Hides turns of the present segment that are over, too. To be called when the SDK waits for an answer. */
export function trimHistory(state: State): void {
  const past = finishedItems(state);
  if (hide(state, workingAgent(state), past)) dropEvidence(state, past);
}

/** Hides the first items of a state, which are those of `past`, where nothing could see the difference. */
function hide(
  state: State,
  agent: Agent,
  past: readonly PastItem[],
  history: () => AgentInputItem[] = () => historyOf(state, past),
): boolean {
  if (past.length === 0 || !isAlone(agent)) return false;
  const begun = originalInput(state);
  const items = generatedItems(state);
  // A model that changes what it is given must not change what is kept.
  const shown = copyOf(history());
  const before = hidden.get(state) ?? {
    originalInput: begun,
    past: [],
    shown: [],
    ids: new Set<string>(),
    givenItems: typeof begun === 'string' ? 1 : begun.length,
  };
  const ids = shown.flatMap(idOf);
  // Of items that say the same id the SDK shows the last one alone.
  const isNew = new Set(ids).size === ids.length && ids.every((id) => !before.ids.has(id));
  if (!isNew || !shown.every(isPlain)) return false;
  before.past.push(...past);
  before.shown.push(...shown);
  for (const id of ids) before.ids.add(id);
  hidden.set(state, before);
  startWithItems(state, items.slice(past.length));
  return true;
}

/** A copy that shares no object. Texts, which no one can change, are not copied: they may be megabytes. */
function copyOf<T>(value: T): T {
  if (typeof value !== 'object' || value === null) return value;
  const prototype: unknown = Object.getPrototypeOf(value);
  if (Array.isArray(value)) return value.map(copyOf) as T;
  if (prototype !== Object.prototype && prototype !== null) return structuredClone(value);
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, copyOf(member)])) as T;
}

/** What the model reads of the first items of a state. */
function historyOf(state: State, past: readonly PastItem[]): AgentInputItem[] {
  const items = generatedItems(state);
  try {
    setGeneratedItems(state, items.slice(0, past.length));
    return state.history;
  } finally {
    setGeneratedItems(state, items);
  }
}

const over = new WeakMap<State, number>();

/** How many items of the turns that were over a state was loaded with, whether or not they are hidden. */
export const finishedItemCount = (state: State): number => over.get(state) ?? 0;

/** Counts the turns that are over in a state that was loaded, and hides them where nothing could see the difference. */
export function trimLoadedHistory(state: State, agent: Agent, past: readonly PastItem[]): void {
  const history = past.length === 0 ? [] : historyOf(state, past);
  over.set(state, history.length);
  hide(state, agent, past, () => history);
}

/** No one but the model looks at the turns before: other agents, their filters, hooks and guardrails of the output would. */
const isAlone = ({ handoffs, outputGuardrails }: Agent): boolean =>
  handoffs.length === 0 && outputGuardrails.length === 0;

const PLAIN: ReadonlySet<unknown> = new Set([
  undefined,
  'message',
  'reasoning',
  'function_call',
  'function_call_result',
]);
const isPlain = ({ type }: AgentInputItem): boolean => PLAIN.has(type);

/** How the SDK knows an item again; messages it does not. */
const idOf = (item: AgentInputItem): string[] => {
  if ('role' in item) return [];
  if ('callId' in item) return [`${item.type} ${item.callId}`];
  return item.id === undefined ? [] : [`${item.type} ${item.id}`];
};

/** A model that has compacted the conversation reads nothing of what came before. */
const isCompacted = (items: readonly { readonly type?: unknown }[]): boolean =>
  items.some(({ type }) => type === 'compaction');

/** A request with the turns that are hidden from the SDK in front. */
export function restoreHistory(state: State | null, request: ModelRequest): ModelRequest {
  const past = trimmedHistory(state);
  const { input } = request;
  if (past === undefined || typeof input === 'string' || isCompacted(input)) return request;
  const isAgain = (item: AgentInputItem): boolean => idOf(item).some((id) => past.ids.has(id));
  const again = new Map(input.filter(isAgain).flatMap((item) => idOf(item).map((id) => [id, item])));
  if (again.size === 0) return { ...request, input: [...past.shown, ...input] };
  // What is said again under its id stands where it was said first.
  const latest = (item: AgentInputItem): AgentInputItem => again.get(idOf(item)[0] ?? '') ?? item;
  return { ...request, input: [...past.shown.map(latest), ...input.filter((item) => !isAgain(item))] };
}

/** What the agent has said, with the turns that are hidden from the SDK in front. */
export function restoreOutput(state: State, output: readonly JsonObject[]): readonly JsonObject[] {
  const past = trimmedHistory(state);
  if (past === undefined || isCompacted(output)) return output;
  return [...itemsOfInput(toJson(past.shown.slice(past.givenItems))), ...output];
}

/**
 * What a state has of turns that are over, as it is kept beside the text of the SDK. To write and to read a state, the SDK
 * compares each call that has ended with everything that was generated, twice: a run of 500 turns spent most of its time so.
 * The SDK gets what is still at work, and the items before it are put back when it has read that.
 */

const agent = z.string();
const json = z.json();
const functionToolStateKey = z.string().optional();
export const pastItem = z.discriminatedUnion('type', [
  z.object({ type: z.literal('message_output_item'), rawItem: protocol.AssistantMessageItem, agent }),
  z.object({ type: z.literal('reasoning_item'), rawItem: protocol.ReasoningItem, agent }),
  z.object({ type: z.literal('tool_call_item'), rawItem: protocol.FunctionCallItem, agent, functionToolStateKey }),
  z.object({
    type: z.literal('tool_call_output_item'),
    rawItem: protocol.FunctionCallResultItem,
    agent,
    output: json,
    customData: z.record(z.string(), z.unknown()).optional(),
    executionStatus: z.literal('executed').optional(),
  }),
  z.object({ type: z.literal('handoff_call_item'), rawItem: protocol.FunctionCallItem, agent }),
  z.object({ type: z.literal('handoff_output_item'), rawItem: protocol.FunctionCallResultItem, agent, target: agent }),
  z.object({
    type: z.literal('tool_approval_item'),
    rawItem: protocol.FunctionCallItem,
    agent,
    toolName: z.string().optional(),
    functionToolStateKey,
  }),
]);

export type PastItem = z.infer<typeof pastItem>;

/** An item as text keeps it; null: of a kind that only the SDK keeps. */
function pastOf(item: RunItem): PastItem | null {
  if (item instanceof RunMessageOutputItem) return { type: item.type, rawItem: item.rawItem, agent: item.agent.name };
  if (item instanceof RunReasoningItem) return { type: item.type, rawItem: item.rawItem, agent: item.agent.name };
  if (item instanceof RunHandoffCallItem) return { type: item.type, rawItem: item.rawItem, agent: item.agent.name };
  if (item instanceof RunHandoffOutputItem) {
    const { type, rawItem, sourceAgent, targetAgent } = item;
    return { type, rawItem, agent: sourceAgent.name, target: targetAgent.name };
  }
  if (item instanceof RunToolCallItem && item.rawItem.type === 'function_call') {
    return { type: item.type, rawItem: item.rawItem, agent: item.agent.name, functionToolStateKey: keyOf(item) };
  }
  if (item instanceof RunToolCallOutputItem && item.rawItem.type === 'function_call_result') {
    const { type, rawItem, customData, executionStatus } = item;
    // What `toJson` gives is JSON.
    const output = toJson(item.output) as z.infer<typeof json>;
    return { type, rawItem, agent: item.agent.name, output, customData, executionStatus };
  }
  if (item instanceof RunToolApprovalItem && item.rawItem.type === 'function_call') {
    const { type, rawItem, toolName } = item;
    return { type, rawItem, agent: item.agent.name, toolName, functionToolStateKey: keyOf(item) };
  }
  return null;
}

/** How the SDK knows the tool of a call; its types are silent about it. */
const keyOf = (item: RunItem): string | undefined =>
  'functionToolStateKey' in item && typeof item.functionToolStateKey === 'string'
    ? item.functionToolStateKey
    : undefined;

function itemOf(past: PastItem, named: (name: string) => Agent): RunItem {
  const by = named(past.agent);
  switch (past.type) {
    case 'message_output_item':
      return new RunMessageOutputItem(past.rawItem, by);
    case 'reasoning_item':
      return new RunReasoningItem(past.rawItem, by);
    case 'tool_call_item':
      return new RunToolCallItem(past.rawItem, by, past.functionToolStateKey);
    case 'tool_call_output_item':
      return new RunToolCallOutputItem(past.rawItem, by, past.output, past.customData, past.executionStatus);
    case 'handoff_call_item':
      return new RunHandoffCallItem(past.rawItem, by);
    case 'handoff_output_item':
      return new RunHandoffOutputItem(past.rawItem, by, named(past.target));
    case 'tool_approval_item':
      return new RunToolApprovalItem(past.rawItem, by, past.toolName, past.functionToolStateKey);
  }
}

/** The items of a state that are over, and what `write` makes of the state without them. */
export function serializeHistory<T>(
  state: State,
  write: () => T,
): { readonly past: readonly PastItem[]; readonly rest: T } {
  const items = generatedItems(state);
  const calls = endedCalls(state);
  const past = finishedItems(state);
  try {
    setGeneratedItems(state, items.slice(past.length));
    dropEvidence(state, past);
    return { past, rest: write() };
  } finally {
    setGeneratedItems(state, items);
    setEndedCalls(state, calls);
  }
}

/** Lets a state forget that calls have ended whose items it has no more. */
export function dropEvidence(state: State, past: readonly PastItem[]): void {
  const over = new Set(past.flatMap((one) => (isResult(one) ? [`${one.agent}\n${one.rawItem.callId}`] : [])));
  const isOpen = (by: Agent, callId: string): boolean => !over.has(`${by.name}\n${callId}`);
  const { invocations, evidence } = endedCalls(state);
  setEndedCalls(state, { invocations: callsThat(isOpen, invocations), evidence: callsThat(isOpen, evidence) });
}

type CallsOfAgents<T> = Map<Agent, Map<string, T>>;

const callsThat = <T>(keep: (by: Agent, callId: string) => boolean, calls: CallsOfAgents<T>): CallsOfAgents<T> =>
  new Map([...calls].map(([by, known]) => [by, new Map([...known].filter(([callId]) => keep(by, callId)))]));

type PastCall = Extract<PastItem, { type: 'tool_call_item' | 'handoff_call_item' }>;
type PastResult = Extract<PastItem, { type: 'tool_call_output_item' | 'handoff_output_item' }>;
const isCall = (one: PastItem): one is PastCall => one.type === 'tool_call_item' || one.type === 'handoff_call_item';
const isResult = (one: PastItem): one is PastResult =>
  one.type === 'tool_call_output_item' || one.type === 'handoff_output_item';

/** What comes before the last response, up to where no call is open. */
export function finishedItems(state: State): readonly PastItem[] {
  const items = generatedItems(state);
  const last = firstOfLastResponse(state);
  const end = last === undefined ? items.length : items.indexOf(last);
  const past: PastItem[] = [];
  const open = new Set<string>();
  const names = new Map<string, Agent>();
  let over = 0;
  for (const item of items.slice(0, Math.max(0, end))) {
    const kept = pastOf(item);
    if (kept === null || !isOnly(names, item)) break;
    past.push(kept);
    if (isCall(kept)) open.add(kept.rawItem.callId);
    if (isResult(kept)) open.delete(kept.rawItem.callId);
    if (open.size === 0) over = past.length;
  }
  return past.slice(0, over);
}

/** Whether no other agent of its name was seen: text keeps the name alone. */
function isOnly(names: Map<string, Agent>, item: RunItem): boolean {
  const agents = 'agent' in item ? [item.agent] : 'sourceAgent' in item ? [item.sourceAgent, item.targetAgent] : [];
  return agents.every((one) => {
    const known = names.get(one.name) ?? one;
    names.set(one.name, known);
    return known === one;
  });
}

/** Puts the items that are over before those that the SDK has read. Throws `state_unreadable`. */
export function restoreItems(state: State, start: Agent, past: readonly PastItem[]): void {
  const named = (name: string): Agent => {
    const found = findReachableAgent(start, name);
    if (found === undefined)
      throw new HoldfastError('state_unreadable', `The agent ${name}, which has worked in the run, is gone.`);
    return found;
  };
  setGeneratedItems(state, [...past.map((one) => itemOf(one, named)), ...generatedItems(state)]);
}
