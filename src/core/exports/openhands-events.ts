import { asJson, type JsonObject } from '../json.js';
import {
  type AssistantMessage,
  type ConversationCall,
  type ConversationMessage,
  isAssistant,
  isToolMessage,
  type ToolMessage,
} from './conversation.js';
import type { Thread } from './thread.js';

/**
 * A thread as the events of a conversation of OpenHands' SDK, in their order: `kind` names the class of each.
 * https://docs.openhands.dev/sdk/arch/events
 */
export function openhandsEvents(thread: Thread, runId: string): readonly JsonObject[] {
  const ids = new EventIds(runId);
  const actions = new Map<string, string>();
  const events: JsonObject[] = [];
  const [first] = thread.messages;
  if (thread.system !== null)
    events.push({
      ...{ id: `${runId}:system`, timestamp: first?.at ?? '', source: 'agent', kind: 'SystemPromptEvent' },
      system_prompt: textOf(thread.system),
      tools: thread.tools.map((tool) => asJson({ type: 'function', function: { ...tool } })),
    });
  for (const message of thread.messages) {
    if (isToolMessage(message)) events.push(observationOf(message, ids, actions));
    else if (isAssistant(message)) events.push(...answerOf(message, ids, actions));
    else events.push(saidOf(message, ids));
  }
  return events;
}

const textOf = (text: string): JsonObject => ({ type: 'text', text, cache_prompt: false });

/** Ids of events, each once: one event of the log has all messages of the conversation that a run goes on with. */
class EventIds {
  readonly #runId: string;
  readonly #taken = new Map<string, number>();

  constructor(runId: string) {
    this.#runId = runId;
  }

  next({ seq }: Pick<ConversationMessage, 'seq'>, part = ''): string {
    const id = `${this.#runId}:${seq}${part}`;
    const times = (this.#taken.get(id) ?? 0) + 1;
    this.#taken.set(id, times);
    return times === 1 ? id : `${id}~${times}`;
  }
}

const saidOf = (message: ConversationMessage & { readonly text: string }, ids: EventIds): JsonObject => ({
  ...{ id: ids.next(message), timestamp: message.at },
  ...{ source: message.role === 'user' ? 'user' : 'environment', kind: 'MessageEvent' },
  llm_message: { role: message.role, content: [textOf(message.text)] },
  ...{ activated_skills: [], extended_content: [] },
});

/** Calls of one answer share its id; what the model thought stands with the first of them alone. */
function answerOf(message: AssistantMessage, ids: EventIds, actions: Map<string, string>): readonly JsonObject[] {
  const { calls, text, reasoning, at: timestamp } = message;
  const response = ids.next(message);
  if (calls.length === 0)
    return [
      {
        ...{ id: response, timestamp, source: 'agent', kind: 'MessageEvent' },
        llm_message: {
          ...{ role: 'assistant', content: [textOf(text)] },
          ...(reasoning === null ? {} : { reasoning_content: reasoning }),
        },
        ...{ llm_response_id: response, activated_skills: [], extended_content: [] },
      },
    ];
  return calls.map((call, at) => {
    const id = `${response}:${at}`;
    actions.set(call.callId, id);
    return {
      ...{ id, timestamp, source: 'agent', kind: 'ActionEvent' },
      thought: at === 0 && text !== '' ? [textOf(text)] : [],
      ...{ reasoning_content: at === 0 ? reasoning : null, thinking_blocks: [] },
      ...actionOf(call),
      ...{ llm_response_id: response, security_risk: 'UNKNOWN' },
    };
  });
}

const actionOf = ({ callId, tool, arguments: args }: ConversationCall): JsonObject => ({
  action: { kind: 'MCPToolAction', data: args },
  ...{ tool_name: tool, tool_call_id: callId },
  tool_call: { id: callId, name: tool, arguments: JSON.stringify(args), origin: 'completion' },
});

const REJECTED: ReadonlySet<string> = new Set(['denied', 'rejected', 'expired', 'cancelled']);

function observationOf(message: ToolMessage, ids: EventIds, actions: ReadonlyMap<string, string>): JsonObject {
  const { callId, tool, text, outcome } = message;
  const head = { id: ids.next(message, `:${callId}`), timestamp: message.at };
  const of = { tool_name: tool, tool_call_id: callId };
  const action = actions.get(callId) ?? '';
  if (outcome?.type === 'refused' && REJECTED.has(outcome.why))
    return {
      ...{ ...head, source: 'environment', kind: 'UserRejectObservation', ...of, action_id: action },
      ...{ rejection_reason: text, rejection_source: outcome.why === 'rejected' ? 'user' : 'hook' },
    };
  if (outcome !== null && outcome.type !== 'output')
    return { ...head, source: 'agent', kind: 'AgentErrorEvent', ...of, error: text };
  return {
    ...{ ...head, source: 'environment', kind: 'ObservationEvent', ...of, action_id: action },
    observation: { kind: 'MCPToolObservation', content: [textOf(text)], is_error: false, tool_name: tool },
    extended_content: [],
  };
}
