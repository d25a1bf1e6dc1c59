import type { ModelRequest, ModelResponse, StreamEvent } from '@openai/agents';
import { abortError, throwIfAborted } from '../providers/abort.js';
import type { Endpoint } from './endpoint.js';
import { endpointFailure } from './endpoint-failure.js';

/** Calls of models at an endpoint, whose failures say what a person can do. They throw as OllamaModel does. */

export async function wholeOf(
  answer: Promise<ModelResponse>,
  { signal }: ModelRequest,
  endpoint: Endpoint,
  name: string,
): Promise<ModelResponse> {
  try {
    return await answer;
  } catch (error) {
    throw signal?.aborted === true ? abortError(signal) : endpointFailure(error, endpoint, name, false);
  }
}

export async function* streamedOf(
  events: AsyncIterable<StreamEvent>,
  { signal }: ModelRequest,
  endpoint: Endpoint,
  name: string,
): AsyncGenerator<StreamEvent, void, undefined> {
  let started = false;
  try {
    for await (const event of events) {
      // The stream of the `openai` package ends without an error when its signal fires.
      throwIfAborted(signal);
      started = true;
      yield event;
    }
    throwIfAborted(signal);
  } catch (error) {
    throw signal?.aborted === true ? abortError(signal) : endpointFailure(error, endpoint, name, started);
  }
}
