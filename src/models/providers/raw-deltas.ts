import { z } from 'zod';
import type { ModelDelta } from '../../core/log/delta.js';

interface Call {
  readonly callId: string | null;
  readonly tool: string | null;
}

const NO_CALL: Call = { callId: null, tool: null };

const responses = z.discriminatedUnion('type', [
  z.object({
    type: z.literal('response.output_item.added'),
    output_index: z.number(),
    item: z.object({ type: z.literal('function_call'), call_id: z.string(), name: z.string() }),
  }),
  z.object({
    type: z.literal('response.function_call_arguments.delta'),
    output_index: z.number(),
    delta: z.string(),
  }),
  z.object({
    type: z.enum(['response.reasoning_text.delta', 'response.reasoning_summary_text.delta']),
    delta: z.string(),
  }),
]);

const text = z.string().nullish();
const called = z.object({
  index: z.number(),
  id: text,
  function: z.object({ name: text, arguments: text }).nullish(),
});
const chatDelta = z.object({ reasoning: text, reasoning_content: text, tool_calls: z.array(called).nullish() });
const chat = z.object({ choices: z.array(z.object({ index: z.number(), delta: chatDelta.nullish() })) });

const own = z.discriminatedUnion('type', [
  z.object({ type: z.literal('holdfast.reasoning'), delta: z.string() }),
  z.object({
    type: z.literal('holdfast.arguments'),
    delta: z.string(),
    callId: z.string().nullable().default(null),
    tool: z.string().nullable().default(null),
  }),
]);

/**
 * Reads reasoning and the arguments of calls from the raw events of one model stream, by their shape: OpenAI's Responses API
 * (`response.…`), chunks of Chat Completions (`choices`), and our own (`holdfast.…`, docs/models/streaming.md). Text is not here: the SDK
 * has an event of its own for it. An event that is not known gives nothing.
 */
export class RawDeltas {
  readonly #calls = new Map<number, Call>();

  read(event: unknown): readonly ModelDelta[] {
    return this.#responses(event) ?? this.#chat(event) ?? this.#own(event) ?? [];
  }

  #responses(raw: unknown): readonly ModelDelta[] | null {
    const { data: event } = responses.safeParse(raw);
    if (event === undefined) return null;
    if (event.type === 'response.output_item.added') {
      this.#calls.set(event.output_index, { callId: event.item.call_id, tool: event.item.name });
      return [];
    }
    if (event.type !== 'response.function_call_arguments.delta') return [{ type: 'reasoning', delta: event.delta }];
    return [{ type: 'arguments', delta: event.delta, ...(this.#calls.get(event.output_index) ?? NO_CALL) }];
  }

  /** Only the first choice counts, as in the SDK. */
  #chat(raw: unknown): readonly ModelDelta[] | null {
    const { data: chunk } = chat.safeParse(raw);
    if (chunk === undefined) return null;
    const delta = chunk.choices.find(({ index }) => index === 0)?.delta;
    const thought = delta?.reasoning || delta?.reasoning_content || '';
    const found: ModelDelta[] = thought === '' ? [] : [{ type: 'reasoning', delta: thought }];
    for (const { index, id, function: part } of delta?.tool_calls ?? []) {
      const before = this.#calls.get(index) ?? NO_CALL;
      const call = {
        callId: before.callId ?? (id || null),
        tool: part?.name ? `${before.tool ?? ''}${part.name}` : before.tool,
      };
      this.#calls.set(index, call);
      if (part?.arguments) found.push({ type: 'arguments', delta: part.arguments, ...call });
    }
    return found;
  }

  #own(raw: unknown): readonly ModelDelta[] | null {
    const { data: event } = own.safeParse(raw);
    if (event === undefined) return null;
    if (event.type === 'holdfast.reasoning') return [{ type: 'reasoning', delta: event.delta }];
    return [{ ...event, type: 'arguments' }];
  }
}
