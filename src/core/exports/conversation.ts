/**
 * What was said in a run, by whom, and what came of it: the form between a log and the formats in which trajectories are
 * exported. A run has one loop of its own, and one for each agent that worked behind a tool (`asTool()`).
 */
import type { WorkspaceChanges } from '../containers/workspace-changes.js';
import type { ContentPart } from '../content-part.js';
import type { JsonObject, JsonValue } from '../json.js';
import type { CallOutcome } from '../log/call-outcome.js';
import type { CapabilityCheck } from '../log/event.js';
import type { RunStatus, RunView, Usage } from '../runs/run.js';

/** Where a message comes from. */
interface Origin {
  /** Sequence number of the event that it is of. */
  readonly seq: number;
  readonly at: string;
  /** It was said before this run: in an earlier run of the session, or in the run that this one was forked from. */
  readonly copied: boolean;
}

export interface ConversationCall {
  readonly callId: string;
  readonly tool: string;
  /** As they ran, and as the model read them afterwards. */
  readonly arguments: JsonObject;
  /** As the model gave them, where a person put others in their place; null: no one did. */
  readonly asked: JsonValue;
  /** Null: a handoff, or a call that the model's own side answered. */
  readonly decision: 'allow' | 'ask' | 'deny' | 'invalid' | null;
  readonly checks: readonly CapabilityCheck[];
  /** The run that the call started, if it is a sub-agent. */
  readonly childRunId: string | null;
}

export interface TextMessage extends Origin {
  readonly role: 'system' | 'user';
  readonly text: string;
  /** Null: there is no image in it, and the text says all. */
  readonly parts: readonly ContentPart[] | null;
}

export interface AssistantMessage extends Origin {
  readonly role: 'assistant';
  readonly agent: string;
  /** Null: not known, as of what an earlier run of the session said. */
  readonly model: string | null;
  readonly text: string;
  readonly reasoning: string | null;
  readonly calls: readonly ConversationCall[];
  /** What else the model gave, such as calls that its provider answered itself. */
  readonly other: readonly JsonObject[];
  readonly usage: Usage | null;
  readonly costUsd: string | null;
  /** Why the model gave no answer. */
  readonly error: { readonly code: string; readonly message: string } | null;
  readonly startedAt: string;
  readonly hash: string | null;
  readonly stateHashBefore: string | null;
  readonly stateHashAfter: string | null;
}

export interface ToolMessage extends Origin {
  readonly role: 'tool';
  readonly callId: string;
  readonly tool: string;
  /** What the model read. */
  readonly text: string;
  readonly outcome: CallOutcome | null;
  /** What it changed of the files of its environment; absent: no one looked. */
  readonly workspace?: WorkspaceChanges;
  /** The agent that took over, if the call was a handoff. */
  readonly handoff: string | null;
}

export type ConversationMessage = TextMessage | AssistantMessage | ToolMessage;

/** One agent loop: that of the run, or that of an agent behind a tool. */
export interface Loop {
  /** The call that it is the inside of; null: the loop of the run. */
  readonly within: string | null;
  readonly messages: readonly ConversationMessage[];
  /** Names of the tools that each agent of the loop was offered, in their order. */
  readonly offered: ReadonlyMap<string, readonly string[]>;
}

export interface Conversation {
  readonly run: Pick<
    RunView,
    | 'id'
    | 'agent'
    | 'agentVersion'
    | 'input'
    | 'output'
    | 'usage'
    | 'costUsd'
    | 'metadata'
    | 'parentRunId'
    | 'createdAt'
  > & { readonly status: RunStatus; readonly error: RunView['error']; readonly completedAt: string | null };
  /** That of the run first. */
  readonly loops: readonly Loop[];
  readonly head: { readonly seq: number; readonly hash: string };
}

export const isAssistant = (message: ConversationMessage): message is AssistantMessage => message.role === 'assistant';
export const isToolMessage = (message: ConversationMessage): message is ToolMessage => message.role === 'tool';

/** The models that answered, each once, in their order. */
export const modelsOf = ({ loops }: Conversation): readonly string[] => [
  ...new Set(
    loops.flatMap(({ messages }) =>
      messages.flatMap((one) => (isAssistant(one) && one.model !== null && !one.copied ? [one.model] : [])),
    ),
  ),
];
