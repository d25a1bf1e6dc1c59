import {
  type Model,
  type ModelRequest,
  type ModelResponse,
  type ModelRetryAdvice,
  type ModelRetryAdviceRequest,
  OpenAIChatCompletionsModel,
  type StreamEvent,
} from '@openai/agents';
import { ChatAnswer } from '../dialects/chat-answer.js';
import { chatInput } from '../dialects/chat-history.js';
import type { Dialect } from '../dialects/dialect.js';
import { dialectClient } from '../dialects/dialect-client.js';
import { ModelCallError } from '../failures/model-call-error.js';
import { retryAdviceOf } from '../failures/model-failure.js';
import type { Endpoint } from '../openai/endpoint.js';
import { streamedOf, wholeOf } from '../openai/endpoint-calls.js';
import type { EndpointClient } from '../openai/openai-client.js';
import { doneEvent, isOutputItem } from './response-events.js';

/**
 * A model of Chat Completions in the dialect of its server. The SDK's own model makes the request and reads the stream; a dialect
 * stands between it and the server: it says what of the history goes back, and reads each answer into the same items, whole and
 * streamed.
 */
export class ChatModel implements Model {
  readonly #client: EndpointClient;
  readonly #endpoint: Endpoint;
  readonly #dialect: Dialect;
  readonly #name: string;

  constructor(client: EndpointClient, endpoint: Endpoint, dialect: Dialect, name: string) {
    this.#client = client;
    this.#endpoint = endpoint;
    this.#dialect = dialect;
    this.#name = name;
  }

  getResponse(request: ModelRequest): Promise<ModelResponse> {
    return wholeOf(this.#whole(request), request, this.#endpoint, this.#name);
  }

  getStreamedResponse(request: ModelRequest): AsyncIterable<StreamEvent> {
    return streamedOf(this.#streamed(request), request, this.#endpoint, this.#name);
  }

  getRetryAdvice({ error }: ModelRetryAdviceRequest): ModelRetryAdvice | undefined {
    return retryAdviceOf(error);
  }

  async #whole(request: ModelRequest): Promise<ModelResponse> {
    const answer = new ChatAnswer(this.#dialect);
    const { providerData: _raw, ...response } = await this.#sdkModel(answer).getResponse(this.#shown(request));
    return { ...response, ...answer.response(response.output) };
  }

  async *#streamed(request: ModelRequest): AsyncGenerator<StreamEvent, void, undefined> {
    const answer = new ChatAnswer(this.#dialect);
    for await (const event of this.#sdkModel(answer).getStreamedResponse(this.#shown(request))) {
      if (event.type !== 'response_done') {
        yield event;
        continue;
      }
      // Only a `finish_reason` ends an answer: a stream may be cut between two pieces.
      if (!answer.isOver) {
        const message = 'The answer is broken: it ended before it was done.';
        throw new ModelCallError('model_failed', message, { retryable: true });
      }
      const { id, requestId, rawUsage, output } = event.response;
      const whole = {
        ...answer.response(output),
        responseId: id,
        ...(requestId === undefined ? {} : { requestId }),
        ...(rawUsage === undefined ? {} : { rawUsage }),
      };
      yield doneEvent(whole, whole.output.filter(isOutputItem));
    }
  }

  /** What the API cannot do is refused, not left out with a warning on the console. */
  #sdkModel(answer: ChatAnswer): Model {
    const client = dialectClient(this.#client, answer);
    return new OpenAIChatCompletionsModel(client, this.#name, { strictFeatureValidation: true });
  }

  #shown(request: ModelRequest): ModelRequest {
    return { ...request, input: chatInput(this.#dialect, this.#name, request.input) };
  }
}
