import {
  type Model,
  type ModelRequest,
  type ModelResponse,
  type ModelRetryAdvice,
  type ModelRetryAdviceRequest,
  OpenAIChatCompletionsModel,
  type StreamEvent,
} from '@openai/agents';
import type OpenAI from 'openai';
import { ModelCallError } from '../failures/model-call-error.js';
import { retryAdviceOf } from '../failures/model-failure.js';
import type { Endpoint } from '../openai/endpoint.js';
import { streamedOf, wholeOf } from '../openai/endpoint-calls.js';
import type { EndpointClient } from '../openai/openai-client.js';
import { doneEvent, isOutputItem } from '../providers/response-events.js';
import { ChatAnswer } from './chat-answer.js';
import { chatInput } from './chat-history.js';
import { type Dialect, fieldsIn, type UnknownFields } from './dialect.js';

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

type Create = OpenAI['chat']['completions']['create'];

/** The SDK fails an answer that was cut with an error of its own, which has neither the usage nor the reason. */
const forSdk = (choice: unknown): UnknownFields =>
  fieldsIn(choice)['finish_reason'] === null || fieldsIn(choice)['finish_reason'] === undefined
    ? fieldsIn(choice)
    : { ...fieldsIn(choice), finish_reason: 'stop' };

function taken(answer: ChatAnswer, raw: unknown, form: 'message' | 'delta'): UnknownFields {
  const chunk = answer.take(raw, form);
  return Array.isArray(chunk['choices']) ? { ...chunk, choices: chunk['choices'].map(forSdk) } : chunk;
}

/**
 * A client whose answers go through `answer` before the SDK's model reads them. Of a client the model uses `baseURL` and
 * `chat.completions.create` alone.
 */
function dialectClient(client: OpenAI, answer: ChatAnswer): OpenAI {
  const ask: Create = client.chat.completions.create.bind(client.chat.completions);
  const whole = async (...asked: Parameters<typeof ask>): Promise<unknown> => {
    const raw: unknown = await ask(...asked);
    const given = taken(answer, raw, 'message');
    const requestId = fieldsIn(raw)['_request_id'];
    return requestId === undefined ? given : { ...given, _request_id: requestId };
  };
  const streamed = (...asked: Parameters<typeof ask>) => ({
    withResponse: async () => {
      const { data, ...rest } = await ask(...asked).withResponse();
      return { ...rest, data: pieces(answer, data) };
    },
  });
  const create = (...asked: Parameters<typeof ask>) =>
    asked[0].stream === true ? streamed(...asked) : whole(...asked);
  const own: OpenAI = Object.create(client, { chat: { value: { completions: { create } } } });
  return own;
}

async function* pieces(answer: ChatAnswer, stream: unknown): AsyncGenerator<UnknownFields, void, undefined> {
  for await (const raw of stream as AsyncIterable<unknown>) yield taken(answer, raw, 'delta');
}
