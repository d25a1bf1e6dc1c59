import { type AgentPrompt, type ToolDefinition, toolNamed } from '../agents/agent-prompt.js';
import {
  type AssistantMessage,
  type Conversation,
  type ConversationCall,
  type ConversationMessage,
  isAssistant,
  isToolMessage,
  type Loop,
} from './conversation.js';

/**
 * A conversation as one agent read it and went on with it: what a row of training data is made of. An agent that another one
 * handed over to has a thread of its own, which begins with what it took over.
 */
export interface Thread {
  /** `<run id>`, with the call of its loop and the number of the stretch behind it where it is not the first. */
  readonly id: string;
  readonly agent: string;
  readonly models: readonly string[];
  /** Null: computed, or not known. */
  readonly system: string | null;
  readonly tools: readonly ToolDefinition[];
  /** Without the system prompt. */
  readonly messages: readonly ConversationMessage[];
  /** So many messages at the beginning are only read: they were said by another agent, in another run or before a fork. */
  readonly context: number;
}

/** Stretches in which one agent answers. */
function stretchesOf(messages: readonly ConversationMessage[]): { agent: string; from: number; to: number }[] {
  const stretches: { agent: string; from: number; to: number }[] = [];
  for (const [index, message] of messages.entries()) {
    const open = stretches.at(-1);
    if (isAssistant(message) && message.hash !== null && open?.agent !== message.agent)
      stretches.push({ agent: message.agent, from: index, to: index + 1 });
    else if (open !== undefined) open.to = index + 1;
  }
  return stretches;
}

/** Answers that failed were not said; a call that no one answered before the next answer was not told to the model. */
function readable(messages: readonly ConversationMessage[]): ConversationMessage[] {
  const answered = new Set<string>();
  for (const one of messages) if (isToolMessage(one)) answered.add(one.callId);
  const wasAnswered = ({ callId }: ConversationCall): boolean => answered.has(callId);
  const last = messages.findLast(isAssistant);
  return messages
    .filter((message) => !isAssistant(message) || message.error === null)
    .map((message) =>
      !isAssistant(message) || message === last || message.calls.every(wasAnswered)
        ? message
        : { ...message, calls: message.calls.filter(wasAnswered) },
    );
}

/** How many messages stand before the first answer of the thread's own, without what was asked right before it. */
function contextOf(messages: readonly ConversationMessage[], own: readonly AssistantMessage[]): number {
  const firstAnswer = messages.findIndex((one) => isAssistant(one) && one.seq === own[0]?.seq);
  const before = messages.slice(0, Math.max(0, firstAnswer));
  return before.findLastIndex((one) => one.copied || isAssistant(one) || isToolMessage(one)) + 1;
}

function threadsOfLoop({ run }: Conversation, loop: Loop, prompts: ReadonlyMap<string, AgentPrompt>): Thread[] {
  return stretchesOf(loop.messages).flatMap(({ agent, from, to }, index) => {
    const messages = readable(loop.messages.slice(0, to));
    const own = readable(loop.messages.slice(from, to))
      .filter(isAssistant)
      .filter(({ copied }) => !copied);
    if (own.length === 0) return [];
    const prompt = prompts.get(agent);
    const called = own.flatMap(({ calls }) => calls.map(({ tool }) => tool));
    const names = [...new Set([...(loop.offered.get(agent) ?? []), ...called])];
    const models = [...new Set(own.flatMap(({ model }) => (model === null ? [] : [model])))];
    const id = [run.id, ...(loop.within === null ? [] : [loop.within]), ...(index === 0 ? [] : [String(index)])];
    return [
      {
        ...{ id: id.join(':'), agent, models, system: prompt?.instructions ?? null, messages },
        tools: names.map((name) => toolNamed(prompt, name)),
        context: contextOf(messages, own),
      },
    ];
  });
}

/** The threads of a run: those of its own loop first. */
export const threadsOf = (conversation: Conversation, prompts: ReadonlyMap<string, AgentPrompt>): readonly Thread[] =>
  conversation.loops.flatMap((loop) => threadsOfLoop(conversation, loop, prompts));
