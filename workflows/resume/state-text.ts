import { type Agent, RunState } from '@openai/agents';
import { z } from 'zod';
import { isObject, type JsonValue, jsonValue } from '../../src/core/json.js';
import type { LoggedResult } from '../../src/core/log/call-outcome.js';
import { type AgentState, agentState } from '../../src/core/tools/agent-state.js';
import { type MemoryNote, memoryNote } from '../../src/core/tools/tool-memory.js';
import { breathe } from '../../src/storage/database/timing.js';
import {
  type PastItem,
  pastItem,
  restoreItems,
  serializeHistory,
  trimLoadedHistory,
  trimmedHistory,
} from '../model-turn/trim-history.js';
import { forgetHandoffResponse } from '../sdk/sdk-internals.js';
import { inputDigest, inputFor, type NotedResult, notedIn, notedResult, withoutLogged } from './referred-payloads.js';

/** A call of an agent as a tool whose agent is in the middle of its work, as a state keeps it. */
const suspendedAgent = z.object({
  callId: z.string(),
  tool: z.string(),
  agent: z.string(),
  arguments: jsonValue,
  /** The state of the agent behind the tool; null: it has not begun. */
  state: z.string().nullable(),
});
export type SuspendedAgent = z.infer<typeof suspendedAgent>;

const kept = z.object({
  suspended: z.array(suspendedAgent).default([]),
  past: z.array(z.unknown()).default([]),
  /** The state of the run, in that of its own agent; absent: it has none. */
  own: agentState.exactOptional(),
  /** What the run had to do with memory, in the state of its own agent; absent: nothing. */
  memory: memoryNote.exactOptional(),
  /** Where the log has long results that the state has itself. */
  noted: z.array(notedResult).exactOptional(),
  /** The digest of the input of the run, which the state begins with; absent: the state has what it begins with. */
  logged_input: z.string().exactOptional(),
});
const withKept = z.object({ holdfast: kept.optional() });

/** What of a run its stored state refers to: the input, and long results that the log has, by call. */
export interface Referred {
  readonly input: JsonValue;
  readonly logged: ReadonlyMap<string, LoggedResult>;
}

/**
 * The state of the agent that works as text: that of the SDK, and in a member of ours the turns that are over and the agents
 * behind tools that are not done. `run`: what it refers to in place of keeping it; null: it keeps everything.
 */
export function stateText(
  state: RunState<unknown, Agent>,
  suspended: readonly SuspendedAgent[],
  own: AgentState | null = null,
  memory: MemoryNote | null = null,
  run: Referred | null = null,
): string {
  forgetHandoffResponse(state);
  const { past, rest } = serializeHistory(state, () => state.toJSON());
  const hidden = trimmedHistory(state);
  const originalInput = hidden?.originalInput ?? rest.originalInput;
  const digest = run === null ? null : inputDigest(originalInput, run.input);
  const whole = [...(hidden?.past ?? []), ...past];
  const items = run === null ? whole : whole.map((item) => withoutLogged(item, run.logged));
  const noted = run === null ? [] : notedIn(run.logged, items);
  const holdfast = {
    suspended,
    past: items,
    ...(noted.length > 0 && { noted }),
    ...(digest !== null && { logged_input: digest }),
    ...(own && { own }),
    ...(memory && { memory }),
  };
  return JSON.stringify({ ...rest, originalInput: digest === null ? originalInput : '', holdfast });
}

/** A text that `stateText` wrote, read once: a long run has megabytes of it. A state that is made of it may share parts of the value. */
export interface ReadState {
  readonly text: string;
  readonly value: unknown;
}

/** Throws for what is no JSON. */
export async function readState(text: string): Promise<ReadState> {
  await breathe();
  const value: unknown = JSON.parse(text);
  await breathe();
  return { text, value };
}

/** The version of the format of a state, as the SDK writes it. */
export const versionOf = ({ value }: Pick<ReadState, 'value'>): unknown =>
  isObject(value) ? value['$schemaVersion'] : undefined;

/** What a state is made with again that refers to the log of its run. */
export interface Filling {
  readonly input: JsonValue | null;
  readonly fill: (item: unknown) => Promise<PastItem>;
}
const WHOLE: Filling = { input: null, fill: async (item) => pastItem.parse(item) };

/**
 * The state of a text that `stateText` wrote. `work`: it is worked on, by the agent of the run itself. The turns that are over are read
 * part by part, so that a long run keeps no one waiting.
 */
export async function stateOfText(
  agent: Agent,
  { text, value }: ReadState,
  work: boolean,
  { input, fill }: Filling = WHOLE,
): Promise<RunState<unknown, Agent>> {
  const past: PastItem[] = [];
  const { past: items, logged_input: digest } = keptIn(value);
  for (const item of items) {
    past.push(await fill(item));
    await breathe();
  }
  const begun = digest === undefined ? {} : { originalInput: inputFor(digest, input) };
  const isWhole = past.length === 0 && digest === undefined;
  const state = await RunState.fromString<unknown, Agent>(agent, isWhole ? text : withoutKept(value, begun));
  await breathe();
  restoreItems(state, agent, past);
  if (work) trimLoadedHistory(state, agent, past);
  return state;
}

/** What of it the SDK reads. */
function withoutKept(value: unknown, begun: object): string {
  const { holdfast: _, ...rest } = isObject(value) ? value : {};
  return JSON.stringify({ ...rest, ...begun });
}

/** The agents behind tools that a state was kept with. */
export const suspendedIn = (state: unknown): readonly SuspendedAgent[] => keptIn(state).suspended;

/** Where the log has long results that the state has itself. */
export const notedOf = (state: unknown): readonly NotedResult[] => keptIn(state).noted ?? [];

/** The state of the run that a state was kept with; undefined: none. */
export const ownIn = (state: unknown): AgentState | undefined => keptIn(state).own;

/** What the run had to do with memory when its state was kept; undefined: nothing. */
export const memoryIn = (state: unknown): MemoryNote | undefined => keptIn(state).memory;

const keptIn = (state: unknown): z.infer<typeof kept> => withKept.parse(state).holdfast ?? kept.parse({});
