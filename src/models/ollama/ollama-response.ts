import { ModelBehaviorError, type ModelResponse, type protocol, RequestUsage, Usage } from '@openai/agents';
import type { AnsweredCall, OllamaAnswer } from './ollama-answer.js';
import type { OllamaPlan } from './ollama-request.js';
import type { OllamaChunk } from './ollama-wire.js';

/** Whether the server counted: it leaves counts out when the whole prompt came from its cache. */
const isCounted = (last: OllamaChunk): boolean =>
  typeof last.prompt_eval_count === 'number' && typeof last.eval_count === 'number';

/** Cached tokens are a part of the input tokens. Counts that are missing are 0. */
function ollamaUsage(lasts: readonly OllamaChunk[]): Usage {
  const total = new Usage();
  for (const last of lasts) {
    const inputTokens = last.prompt_eval_count ?? 0;
    const outputTokens = last.eval_count ?? 0;
    const cached = last.prompt_eval_cached_count;
    const counts = {
      inputTokens,
      outputTokens,
      totalTokens: inputTokens + outputTokens,
      ...(typeof cached === 'number' ? { inputTokensDetails: { cached_tokens: cached } } : {}),
    };
    const entries = lasts.length === 1 ? {} : { requestUsageEntries: [new RequestUsage(counts)] };
    total.add(new Usage({ requests: 1, ...counts, ...entries }));
  }
  return total;
}

/** What the server measured, under its own names; durations are in nanoseconds. */
function rawUsage(last: OllamaChunk): Record<string, unknown> {
  const { prompt_eval_count, prompt_eval_cached_count, eval_count } = last;
  const { total_duration, load_duration, prompt_eval_duration, eval_duration } = last;
  const all = { prompt_eval_count, prompt_eval_cached_count, eval_count };
  const durations = { total_duration, load_duration, prompt_eval_duration, eval_duration };
  return Object.fromEntries(Object.entries({ ...all, ...durations }).filter(([, value]) => typeof value === 'number'));
}

/** The ids of one response and of its items, all made of the one id that each response gets. */
const responseId = (id: string) => `resp_${id}`;
export const messageId = (id: string) => `msg_${id}`;

/**
 * The answer as items of the SDK: thinking, text, calls. `earlier` are answers of the same call that this one replaces;
 * they count in the usage. Throws a ModelBehaviorError when the model did not do what it must.
 */
export function ollamaResponse(
  id: string,
  answer: OllamaAnswer,
  plan: OllamaPlan,
  earlier: readonly OllamaAnswer[],
  preserveRawUsage: boolean,
): ModelResponse {
  assertUsable(answer, plan);
  const warnings = [...plan.warnings];
  const answers = [...earlier, answer];
  const output = [
    ...reasoningItems(
      id,
      answers.map(({ thinking }) => thinking).filter((text) => text !== ''),
    ),
    ...messageItems(id, answer),
    ...callItems(id, chosenCalls(answer, plan, warnings)),
  ];
  const { last } = answer;
  return {
    responseId: responseId(id),
    usage: ollamaUsage(answers.map((one) => one.last)),
    output,
    ...(preserveRawUsage ? { rawUsage: rawUsage(last) } : {}),
    providerData: {
      model: last.model ?? plan.request.model,
      ...(last.created_at ? { createdAt: last.created_at } : {}),
      doneReason: last.done_reason || 'stop',
      finishReason: finishReason(answer),
      ...(answers.every((one) => isCounted(one.last)) ? {} : { usageUnknown: true }),
      ...(answer.logprobs.length === 0 ? {} : { logprobs: answer.logprobs }),
      ...(warnings.length === 0 ? {} : { warnings }),
    },
  };
}

function assertUsable(answer: OllamaAnswer, { required, request }: OllamaPlan): void {
  const wasCut = answer.last.done_reason === 'length';
  if (wasCut && answer.calls.length > 0) {
    throw new ModelBehaviorError(
      `${request.model} reached its limit of tokens while it called ${answer.calls.at(-1)?.name}; the call may be cut, so it was not made. Raise maxTokens or numCtx.`,
    );
  }
  if (required !== null && !answer.calls.some(({ name }) => required.includes(name))) {
    const called = answer.calls.map(({ name }) => name).join(', ') || 'nothing';
    throw new ModelBehaviorError(`${request.model} was told to call ${required.join(' or ')}, and called ${called}.`);
  }
  if (answer.text.trim() === '' && answer.thinking !== '' && answer.calls.length === 0) {
    const why = wasCut ? ', because it reached its limit of tokens. Raise maxTokens or numCtx' : '';
    throw new ModelBehaviorError(`${request.model} thought, but neither answered nor called a tool${why}.`);
  }
}

function reasoningItems(id: string, thoughts: readonly string[]): protocol.ReasoningItem[] {
  if (thoughts.length === 0) return [];
  const rawContent = thoughts.map((text) => ({ type: 'reasoning_text' as const, text }));
  return [{ type: 'reasoning', id: `rs_${id}`, content: [], rawContent }];
}

/** Why the answer ended, in the words of Chat Completions; a reason that they do not have is passed on. */
function finishReason({ calls, last }: OllamaAnswer): string {
  const reason = last.done_reason || 'stop';
  return reason === 'stop' && calls.length > 0 ? 'tool_calls' : reason;
}

function messageItems(id: string, { text, calls, last }: OllamaAnswer): protocol.AssistantMessageItem[] {
  const hasStopped = (last.done_reason || 'stop') === 'stop';
  const wasCut = last.done_reason === 'length';
  if (text === '' && (calls.length > 0 || (!hasStopped && !wasCut))) return [];
  return [
    {
      type: 'message',
      id: messageId(id),
      role: 'assistant',
      status: hasStopped ? 'completed' : 'incomplete',
      content: [{ type: 'output_text', text }],
    },
  ];
}

function chosenCalls({ calls }: OllamaAnswer, plan: OllamaPlan, warnings: string[]): readonly AnsweredCall[] {
  for (const call of calls)
    if (call.repaired) warnings.push(`The arguments of the call of ${call.name} were repaired.`);
  if (!plan.onlyFirstCall || calls.length < 2) return calls;
  const dropped = calls.slice(1).map(({ name }) => name);
  warnings.push(`Only the first call was kept, as parallelToolCalls is false; dropped: ${dropped.join(', ')}.`);
  return calls.slice(0, 1);
}

/** The server's ids are kept as they are; a missing one, or one that came twice, is made of the response's id. */
function callItems(id: string, calls: readonly AnsweredCall[]): protocol.FunctionCallItem[] {
  const seen = new Set<string>();
  return calls.map((call, index) => {
    const callId = call.id !== null && !seen.has(call.id) ? call.id : `call_${id}_${index}`;
    seen.add(callId);
    return {
      type: 'function_call',
      id: `fc_${id}_${index}`,
      callId,
      name: call.name,
      arguments: call.arguments,
      status: 'completed',
    };
  });
}
