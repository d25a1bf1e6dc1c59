import {
  type Agent,
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
import { HoldfastError } from '../../src/core/errors/errors.js';
import { toJson } from '../../src/core/json.js';
import { findReachableAgent } from '../../src/tools/define/reachable-agents.js';

/**
 * What a state has of turns that are over, as it is kept beside the text of the SDK. To write and to read a state, the SDK
 * compares each call that has ended with everything that was generated, twice: a run of 500 turns spent most of its time so.
 * The SDK gets what is still at work, and the items before it are put back when it has read that.
 */

type State = RunState<unknown, Agent>;

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

/** By which the SDK knows the tool of a call; its types are silent about it. */
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
  const {
    _generatedItems: items,
    _completedToolInvocations: calls,
    _completedToolInvocationEvidence: evidence,
  } = state;
  const past = finishedItems(state);
  try {
    state._generatedItems = items.slice(past.length);
    dropEvidence(state, past);
    return { past, rest: write() };
  } finally {
    state._generatedItems = items;
    state._completedToolInvocations = calls;
    state._completedToolInvocationEvidence = evidence;
  }
}

/** Lets a state forget that calls have ended whose items it has no more. */
export function dropEvidence(state: State, past: readonly PastItem[]): void {
  const over = new Set(past.flatMap((one) => (isResult(one) ? [`${one.agent}\n${one.rawItem.callId}`] : [])));
  const isOpen = (by: Agent, callId: string): boolean => !over.has(`${by.name}\n${callId}`);
  state._completedToolInvocations = callsThat(isOpen, state._completedToolInvocations);
  state._completedToolInvocationEvidence = callsThat(isOpen, state._completedToolInvocationEvidence);
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
  const items = state._generatedItems;
  const [last] = state._lastProcessedResponse?.newItems ?? [];
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
  state._generatedItems = [...past.map((one) => itemOf(one, named)), ...state._generatedItems];
}
