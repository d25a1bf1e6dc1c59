import type { Agent, AgentInputItem, ModelRequest, RunState } from '@openai/agents';
import { itemsOfInput } from '../../src/core/agents/session.js';
import { type JsonObject, toJson } from '../../src/core/json.js';
import { dropEvidence, finishedItems, type PastItem } from './past-items.js';

/**
 * Turns that are over, taken out of a state while its agent works. In each turn the SDK copies, writes as text and compares
 * everything that came before, so that a turn would cost more the longer a run gets. It gets the last two,
 * and the model reads those before them in front.
 */

type State = RunState<unknown, Agent>;

export interface TrimmedHistory {
  readonly originalInput: State['_originalInput'];
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
  if (hide(state, state._currentAgent, past)) dropEvidence(state, past);
}

/** Hides the first items of a state, which are those of `past`, where nothing could see the difference. */
function hide(
  state: State,
  agent: Agent,
  past: readonly PastItem[],
  history: () => AgentInputItem[] = () => historyOf(state, past),
): boolean {
  if (past.length === 0 || !isAlone(agent)) return false;
  const { _originalInput: originalInput, _generatedItems: items } = state;
  // A model that changes what it is given must not change what is kept.
  const shown = structuredClone(history());
  const before = hidden.get(state) ?? {
    ...{ originalInput, past: [], shown: [], ids: new Set<string>() },
    givenItems: typeof originalInput === 'string' ? 1 : originalInput.length,
  };
  const ids = shown.flatMap(idOf);
  // Of items that say the same id the SDK shows the last one alone.
  const isNew = new Set(ids).size === ids.length && ids.every((id) => !before.ids.has(id));
  if (!isNew || !shown.every(isPlain)) return false;
  before.past.push(...past);
  before.shown.push(...shown);
  for (const id of ids) before.ids.add(id);
  hidden.set(state, before);
  state._originalInput = [];
  state._generatedItems = items.slice(past.length);
  return true;
}

/** What the model reads of the first items of a state. */
function historyOf(state: State, past: readonly PastItem[]): AgentInputItem[] {
  const { _generatedItems: items } = state;
  try {
    state._generatedItems = items.slice(0, past.length);
    return state.history;
  } finally {
    state._generatedItems = items;
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

/** Nobody but the model looks at the turns before: other agents, their filters, hooks and guardrails of the output would. */
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

/** By which the SDK knows an item again; messages it does not. */
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
