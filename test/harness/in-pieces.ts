import { setTimeout as sleep } from 'node:timers/promises';
import type { Model, ModelRequest, StreamEvent } from '@openai/agents';
import { doneEvent, isOutputItem } from '../../src/models/providers/response-events.js';

/** A model that gives the answer of another one in pieces of so many characters, `beat` before each. */
export const inPieces = (
  model: Model,
  size: number,
  beat: (piece: number, request: ModelRequest) => Promise<void> | void = () => sleep(1),
): Model => ({
  getResponse: (request) => model.getResponse(request),
  async *getStreamedResponse(request): AsyncIterable<StreamEvent> {
    const response = await model.getResponse(request);
    const output = response.output.filter(isOutputItem);
    yield { type: 'response_started' };
    let count = 0;
    for (const item of output) {
      for (const { text, event } of texts(item)) {
        for (let at = 0; at < text.length; at += size) {
          await beat(count++, request);
          yield event(text.slice(at, at + size));
        }
      }
    }
    yield doneEvent(response, output);
  },
});

function texts(item: unknown): { text: string; event: (delta: string) => StreamEvent }[] {
  const one = item as {
    readonly type: string;
    readonly content?: readonly { readonly text: string }[];
    readonly rawContent?: readonly { readonly text: string }[];
    readonly callId?: string;
    readonly name?: string;
    readonly arguments?: string;
  };
  if (one.type === 'function_call') {
    const of = { type: 'holdfast.arguments', callId: one.callId, tool: one.name };
    return [{ text: one.arguments ?? '', event: (delta) => ({ type: 'model', event: { ...of, delta } }) }];
  }
  if (one.type === 'reasoning') {
    const event = (delta: string): StreamEvent => ({ type: 'model', event: { type: 'holdfast.reasoning', delta } });
    return (one.rawContent ?? []).map(({ text }) => ({ text, event }));
  }
  return (one.content ?? []).map(({ text }) => ({ text, event: (delta) => ({ type: 'output_text_delta', delta }) }));
}
