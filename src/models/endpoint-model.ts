import {
  type Model,
  type ModelRequest,
  type ModelResponse,
  type ModelRetryAdvice,
  type ModelRetryAdviceRequest,
  OpenAIChatCompletionsModel,
  OpenAIResponsesModel,
  type StreamEvent,
} from '@openai/agents';
import { abortError, throwIfAborted } from './abort.js';
import type { Endpoint } from './endpoint.js';
import { endpointFailure } from './endpoint-failure.js';
import { messageIn } from './error-answer.js';
import { isRecord } from './failure-causes.js';
import { failureText } from './failure-text.js';
import { ModelCallError } from './model-call-error.js';
import type { EndpointClient } from './openai-client.js';
import { retryAdviceOf } from './retry-advice.js';

/** Models of the SDK whose failures say what a person can do. They throw as OllamaModel does. */

class ResponsesModel extends OpenAIResponsesModel {
  readonly #endpoint: Endpoint;
  readonly #name: string;

  constructor(client: EndpointClient, endpoint: Endpoint, name: string) {
    super(client, name);
    this.#endpoint = endpoint;
    this.#name = name;
  }

  override getResponse(request: ModelRequest): Promise<ModelResponse> {
    return whole(super.getResponse(request), request, this.#endpoint, this.#name);
  }

  override getStreamedResponse(request: ModelRequest): AsyncIterable<StreamEvent> {
    return streamed(super.getStreamedResponse(request), request, this.#endpoint, this.#name);
  }

  override getRetryAdvice({ error }: ModelRetryAdviceRequest): ModelRetryAdvice | undefined {
    return retryAdviceOf(error);
  }
}

class ChatModel extends OpenAIChatCompletionsModel {
  readonly #endpoint: Endpoint;
  readonly #name: string;

  constructor(client: EndpointClient, endpoint: Endpoint, name: string) {
    // What the API cannot do is refused, not left out with a warning on the console.
    super(client, name, { strictFeatureValidation: true });
    this.#endpoint = endpoint;
    this.#name = name;
  }

  override getResponse(request: ModelRequest): Promise<ModelResponse> {
    return whole(super.getResponse(request).then(answered), request, this.#endpoint, this.#name);
  }

  override getStreamedResponse(request: ModelRequest): AsyncIterable<StreamEvent> {
    return streamed(finished(super.getStreamedResponse(request)), request, this.#endpoint, this.#name);
  }

  override getRetryAdvice({ error }: ModelRetryAdviceRequest): ModelRetryAdvice | undefined {
    return retryAdviceOf(error);
  }
}

export const endpointModel = (
  api: 'responses' | 'chat',
  client: EndpointClient,
  endpoint: Endpoint,
  name: string,
): Model => (api === 'chat' ? new ChatModel(client, endpoint, name) : new ResponsesModel(client, endpoint, name));

async function whole(
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

async function* streamed(
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

/** The SDK takes any other text or object that comes with a 200 for an empty answer. */
function answered(response: ModelResponse): ModelResponse {
  const raw: unknown = response.providerData;
  const choices = isRecord(raw) ? raw['choices'] : null;
  if (Array.isArray(choices) && isRecord(choices[0]) && isRecord(choices[0]['message'])) return response;
  const error = isRecord(raw) && isRecord(raw['error']) ? raw['error'] : null;
  const said = failureText(messageIn(raw) ?? (typeof raw === 'string' ? raw : JSON.stringify(raw)));
  throw Object.assign(new Error(`The answer is not one of Chat Completions: ${said}`), { status: error?.['code'] });
}

/** The SDK takes a stream of Chat Completions that was cut between two pieces for a whole one: only a `finish_reason` ends an answer. */
async function* finished(events: AsyncIterable<StreamEvent>): AsyncGenerator<StreamEvent, void, undefined> {
  let isFinished = false;
  for await (const event of events) {
    if (event.type === 'model') isFinished ||= hasReason(event.event);
    if (event.type === 'response_done' && !isFinished) {
      throw new ModelCallError('model_failed', 'The answer is broken: it ended before it was done.', {
        retryable: true,
      });
    }
    yield event;
  }
}

function hasReason(chunk: unknown): boolean {
  const choices = isRecord(chunk) ? chunk['choices'] : null;
  return (
    Array.isArray(choices) && choices.some((choice) => isRecord(choice) && typeof choice['finish_reason'] === 'string')
  );
}
