import type { ModelResponse, protocol, StreamEvent } from '@openai/agents';

/** The stream of a response that is already whole, after its `response_started`: each text once, then `response_done`. */
export function* responseEvents(response: ModelResponse): Iterable<StreamEvent> {
  const output = response.output.filter(isOutputItem);
  for (const item of output) {
    if (item.type !== 'message' && item.type !== undefined) continue;
    for (const part of item.content) {
      if (part.type !== 'output_text' || part.text === '') continue;
      yield { type: 'output_text_delta', delta: part.text, ...(item.id === undefined ? {} : { itemId: item.id }) };
    }
  }
  yield doneEvent(response, output);
}

/** Reasoning as it comes, for which the SDK has no event: see docs/models/streaming.md. */
export const reasoningEvent = (delta: string): StreamEvent => ({
  type: 'model',
  event: { type: 'holdfast.reasoning', delta },
  providerData: { rawModelEventSource: 'holdfast' },
});

/** A piece of the arguments of a call, in the same way. */
export const argumentsEvent = (delta: string, callId: string, tool: string | null): StreamEvent => ({
  type: 'model',
  event: { type: 'holdfast.arguments', delta, callId, tool },
  providerData: { rawModelEventSource: 'holdfast' },
});

/** `response_done`, with the same ids and usage as the response. */
export function doneEvent(
  response: ModelResponse,
  output: protocol.OutputModelItem[],
): protocol.StreamEventResponseCompleted {
  const { usage } = response;
  return {
    type: 'response_done',
    response: {
      id: response.responseId ?? '',
      ...(response.requestId === undefined ? {} : { requestId: response.requestId }),
      usage: {
        requests: usage.requests,
        inputTokens: usage.inputTokens,
        outputTokens: usage.outputTokens,
        totalTokens: usage.totalTokens,
        inputTokensDetails: usage.inputTokensDetails,
        outputTokensDetails: usage.outputTokensDetails,
        ...(usage.requestUsageEntries === undefined ? {} : { requestUsageEntries: usage.requestUsageEntries }),
      },
      ...(response.rawUsage === undefined ? {} : { rawUsage: response.rawUsage }),
      output,
      ...(response.providerData === undefined ? {} : { providerData: response.providerData }),
    },
  };
}

/** A model answers with assistant messages and calls, never with what a user or a tool says. */
export function isOutputItem(item: ModelResponse['output'][number]): item is protocol.OutputModelItem {
  if ('role' in item) return item.role === 'assistant';
  return item.type !== 'computer_call_result';
}
