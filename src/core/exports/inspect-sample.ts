import { type ContentPart, partsOf } from '../content-part.js';
import type { JsonObject, JsonValue } from '../json.js';
import { addUsage, NO_USAGE, type RunView, type Usage } from '../runs/run.js';
import {
  type AssistantMessage,
  type ConversationMessage,
  isAssistant,
  isToolMessage,
  type ToolMessage,
} from './conversation.js';
import type { Thread } from './thread.js';

/**
 * A thread as a sample of an evaluation log of Inspect, version 2 of its format. https://inspect.aisi.org.uk/eval-logs.html
 */
export interface InspectFacts {
  readonly run: Pick<RunView, 'status' | 'error' | 'createdAt' | 'completedAt'>;
  /** Null: no one has judged the run. */
  readonly reward: number | null;
  readonly metadata: JsonObject;
}

export function inspectSample(thread: Thread, media: 'placeholder' | 'inline', facts: InspectFacts): JsonObject {
  const { run, reward, metadata } = facts;
  const system: JsonObject[] = thread.system === null ? [] : [{ role: 'system', content: thread.system }];
  const messages = thread.messages.map((one) => messageOf(one, media));
  const first = thread.messages.findIndex((one, index) => isAssistant(one) && index >= thread.context);
  const own = thread.messages.slice(thread.context).filter(isAssistant);
  const last = own.at(-1);
  return {
    id: thread.id,
    epoch: 1,
    input: [...system, ...messages.slice(0, Math.max(0, first))],
    target: '',
    messages: [...system, ...messages],
    output: outputOf(last),
    ...(reward === null ? {} : { scores: { reward: { value: reward } } }),
    metadata: { ...metadata, context_messages: thread.context === 0 ? 0 : system.length + thread.context },
    store: {},
    events: [],
    model_usage: usageByModel(own),
    started_at: run.createdAt,
    ...(run.completedAt === null ? {} : { completed_at: run.completedAt }),
    ...(run.error === null
      ? {}
      : { error: { message: `${run.error.code}: ${run.error.message}`, traceback: '', traceback_ansi: '' } }),
  };
}

function messageOf(message: ConversationMessage, media: 'placeholder' | 'inline'): JsonObject {
  if (isToolMessage(message)) return resultOf(message, media);
  if (isAssistant(message)) return answerOf(message);
  const { role, text, parts } = message;
  return { role, content: contentOf(text, parts, media) };
}

const contentOf = (text: string, parts: readonly ContentPart[] | null, media: 'placeholder' | 'inline'): JsonValue =>
  media === 'placeholder' || parts === null ? text : parts.map(partOf);

const partOf = (part: ContentPart): JsonObject =>
  part.type === 'text' ? { type: 'text', text: part.text } : { type: 'image', image: part.url };

function resultOf({ callId, tool, text, outcome }: ToolMessage, media: 'placeholder' | 'inline'): JsonObject {
  const parts = outcome?.type === 'output' ? partsOf(outcome.output) : null;
  const failed = outcome !== null && outcome.type !== 'output';
  return {
    role: 'tool',
    content: contentOf(text, parts, media),
    tool_call_id: callId,
    function: tool,
    ...(failed ? { error: { type: outcome.type === 'refused' ? 'approval' : 'unknown', message: text } } : {}),
  };
}

const answerOf = ({ text, reasoning, calls, model }: AssistantMessage): JsonObject => ({
  role: 'assistant',
  content:
    reasoning === null
      ? text
      : [
          { type: 'reasoning', reasoning },
          { type: 'text', text },
        ],
  source: 'generate',
  ...(model === null ? {} : { model }),
  ...(calls.length === 0
    ? {}
    : {
        tool_calls: calls.map(({ callId, tool, arguments: args }) => ({
          ...{ id: callId, function: tool, arguments: args, type: 'function' },
        })),
      }),
});

const inspectUsage = ({ inputTokens, outputTokens, totalTokens }: Usage): JsonObject => ({
  ...{ input_tokens: inputTokens, output_tokens: outputTokens, total_tokens: totalTokens },
});

function outputOf(last: AssistantMessage | undefined): JsonObject {
  if (last === undefined) return { model: '', choices: [] };
  const stop = last.calls.length > 0 ? 'tool_calls' : 'stop';
  return {
    model: last.model ?? '',
    choices: [{ message: answerOf(last), stop_reason: stop }],
    ...(last.usage === null ? {} : { usage: inspectUsage(last.usage) }),
  };
}

function usageByModel(answers: readonly AssistantMessage[]): JsonObject {
  const sums = new Map<string, Usage>();
  for (const { model, usage } of answers) {
    if (model === null || usage === null) continue;
    const sum = sums.get(model) ?? NO_USAGE;
    sums.set(model, addUsage(sum, usage));
  }
  return Object.fromEntries([...sums].map(([model, sum]) => [model, inspectUsage(sum)]));
}
