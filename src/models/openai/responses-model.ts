import {
  type ModelRequest,
  type ModelResponse,
  type ModelRetryAdvice,
  type ModelRetryAdviceRequest,
  OpenAIResponsesModel,
  type StreamEvent,
  type Usage,
} from '@openai/agents';
import { isRecord } from '../../core/json.js';
import { textOf } from '../failures/failure-causes.js';
import { CutAnswer } from '../failures/model-call-error.js';
import { retryAdviceOf } from '../failures/model-failure.js';
import { emptyAnswer, finishReasonOf, isCutReason, isEmptyAnswer } from '../providers/answer-terms.js';
import { usageOf } from '../providers/streamed-response.js';
import type { Endpoint } from './endpoint.js';
import { streamedOf, wholeOf } from './endpoint-calls.js';
import type { EndpointClient } from './openai-client.js';

type Fetched = Awaited<ReturnType<OpenAIResponsesModel['_fetchResponse']>>;

/** A model of the Responses API. The SDK fails a response that is incomplete; here its reason is kept, and what it has of use. */
export class ResponsesModel extends OpenAIResponsesModel {
  readonly #endpoint: Endpoint;
  readonly #name: string;

  constructor(client: EndpointClient, endpoint: Endpoint, name: string) {
    super(client, name);
    this.#endpoint = endpoint;
    this.#name = name;
  }

  /** The SDK throws for an incomplete response, and loses what it has. A streamed one is given as its events. */
  protected override async _fetchResponse(
    ...asked: Parameters<OpenAIResponsesModel['_fetchResponse']>
  ): Promise<Fetched> {
    const fetched: Fetched = await super._fetchResponse(...asked);
    const events: unknown = fetched;
    if (!isEvents(events)) return completed(fetched);
    const given: unknown = completedEvents(events);
    return given as Fetched;
  }

  override getResponse(request: ModelRequest): Promise<ModelResponse> {
    return wholeOf(this.#whole(request), request, this.#endpoint, this.#name);
  }

  async #whole(request: ModelRequest): Promise<ModelResponse> {
    const response = await super.getResponse(request);
    const { responseId: id = null, usage, output, providerData } = response;
    return { ...response, ...reasoned({ id, usage, output, providerData }) };
  }

  override getStreamedResponse(request: ModelRequest): AsyncIterable<StreamEvent> {
    return streamedOf(reasonedEvents(super.getStreamedResponse(request)), request, this.#endpoint, this.#name);
  }

  override getRetryAdvice({ error }: ModelRetryAdviceRequest): ModelRetryAdvice | undefined {
    return retryAdviceOf(error);
  }
}

const isEvents = (value: unknown): value is AsyncIterable<unknown> => isRecord(value) && Symbol.asyncIterator in value;

async function* reasonedEvents(events: AsyncIterable<StreamEvent>): AsyncGenerator<StreamEvent, void, undefined> {
  for await (const event of events) {
    if (event.type !== 'response_done') {
      yield event;
      continue;
    }
    const { response } = event;
    const { id, usage, output, providerData } = response;
    const terms = reasoned({ id, usage: usageOf(usage), output, providerData });
    yield { ...event, response: { ...response, ...terms } };
  }
}

interface Answered {
  readonly id: string | null;
  readonly usage: Usage;
  readonly providerData: unknown;
}

/** Throws for an answer that says nothing, and a CutAnswer for one that was cut before it said anything of use. */
function reasoned<T extends ModelResponse['output'][number]>(
  response: Answered & { readonly output: T[] },
): { readonly output: T[]; readonly providerData: NonNullable<ModelResponse['providerData']> } {
  const { output, usage, id } = response;
  const providerData = isRecord(response.providerData) ? response.providerData : {};
  const calls = output.filter(({ type }) => type === 'function_call');
  const details = providerData['incomplete_details'];
  const cut = isRecord(details) ? finishReasonOf(textOf(details, 'reason') ?? 'length') : null;
  const finishReason = cut ?? (calls.length > 0 ? 'tool_calls' : 'stop');
  const kept = isCutReason(finishReason) ? output.filter(({ type }) => type !== 'function_call') : output;
  const cutCalls = calls.flatMap((call) => (kept.includes(call) || !('name' in call) ? [] : [call.name]));
  const data = { ...providerData, finishReason, ...(cutCalls.length === 0 ? {} : { cutCalls }) };
  if (isCutReason(finishReason) && (cutCalls.length > 0 || isEmptyAnswer(kept))) {
    throw new CutAnswer({ usage, output: kept, providerData: data }, id);
  }
  if (isEmptyAnswer(kept)) throw emptyAnswer(usage);
  return { output: kept, providerData: data };
}

/** An incomplete response as a completed one that keeps its `incomplete_details`. */
function completed<T>(response: T): T {
  return isRecord(response) && response['status'] === 'incomplete' ? { ...response, status: 'completed' } : response;
}

async function* completedEvents(events: AsyncIterable<unknown>): AsyncGenerator<unknown, void, undefined> {
  for await (const event of events) {
    yield isRecord(event) && event['type'] === 'response.incomplete'
      ? { ...event, type: 'response.completed', response: completed(event['response']) }
      : event;
  }
}
