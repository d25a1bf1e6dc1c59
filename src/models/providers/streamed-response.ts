import { setImmediate as breath } from 'node:timers/promises';
import { type Model, type ModelRequest, type ModelResponse, type StreamEvent, Usage } from '@openai/agents';
import { toJson } from '../../core/json.js';
import type { ModelDelta } from '../../core/log/delta.js';
import type { SecretScan } from '../../core/secrets/secret-matcher.js';
import { ModelCallError } from '../failures/model-call-error.js';
import { shownScan } from '../secrets/known-secrets.js';
import { abortError } from './abort.js';
import { RawDeltas } from './raw-deltas.js';

/**
 * Hands out what a model says piece by piece, without secrets, also where one is split over pieces: what may be the beginning of one
 * waits for the next piece of the same text.
 */
export class CleanDeltas {
  readonly #give: (delta: ModelDelta) => void;
  readonly #texts = new Map<string, { readonly scan: SecretScan; last: ModelDelta }>();

  constructor(give: (delta: ModelDelta) => void) {
    this.#give = give;
  }

  push(delta: ModelDelta): void {
    const key = delta.type === 'arguments' ? `arguments ${delta.callId}` : delta.type;
    const text = this.#texts.get(key) ?? { scan: shownScan(), last: delta };
    text.last = delta;
    this.#texts.set(key, text);
    this.#say(delta, text.scan.push(delta.delta));
  }

  /** Hands out what waits. */
  end(): void {
    for (const { scan, last } of this.#texts.values()) this.#say(last, scan.end());
    this.#texts.clear();
  }

  #say(about: ModelDelta, delta: string): void {
    if (delta !== '') this.#give({ ...about, delta });
  }
}

type Done = Extract<StreamEvent, { type: 'response_done' }>;

/** A model that has everything at hand must not keep others from their turn for longer. */
const SLICE_MS = 20;

/**
 * Asks a model for a stream, hands out its deltas as they come, and gives the same response that `getResponse` gives. What
 * was not streamed (the arguments of a model that only gives whole calls) is handed out at the end, so that the
 * deltas together are the answer. Throws what the model throws, an AbortError when the signal fired, and a retryable
 * ModelCallError for a stream that ends without a final response.
 */
export async function streamedResponse(
  model: Model,
  request: ModelRequest,
  onDelta: (delta: ModelDelta) => void,
): Promise<ModelResponse> {
  const { signal } = request;
  const raw = new RawDeltas();
  const seen = new Seen();
  const said = new CleanDeltas(onDelta);
  const give = (delta: ModelDelta): void => {
    if (delta.delta === '') return;
    seen.add(delta);
    said.push(delta);
  };
  let done: Done | undefined;
  let until = performance.now() + SLICE_MS;
  for await (const event of model.getStreamedResponse(request)) {
    if (signal?.aborted === true) throw abortError(signal);
    if (event.type === 'output_text_delta') give({ type: 'text', delta: event.delta });
    else if (event.type === 'model') for (const delta of raw.read(event.event)) give(delta);
    else if (event.type === 'response_done') done = event;
    if (performance.now() < until) continue;
    await breath();
    until = performance.now() + SLICE_MS;
  }
  // Some streams end without an error when their signal fires.
  if (signal?.aborted === true) throw abortError(signal);
  if (done === undefined || !Array.isArray(done.response?.output)) {
    throw new ModelCallError('model_failed', 'The stream of the model ended without a final response.', {
      retryable: true,
      responseStarted: true,
    });
  }
  for (const delta of missing(done, seen)) give(delta);
  said.end();
  return responseOf(done);
}

function responseOf({ response }: Done): ModelResponse {
  const { id, requestId, usage, output, rawUsage, providerData } = response;
  return {
    usage: usageOf(usage),
    output,
    ...(id === '' ? {} : { responseId: id }),
    ...(requestId === undefined ? {} : { requestId }),
    ...(rawUsage === undefined ? {} : { rawUsage }),
    ...(providerData === undefined ? {} : { providerData }),
  };
}

/** Some providers leave the number of requests out. */
export function usageOf(usage: Done['response']['usage']): Usage {
  const counts = toJson(usage);
  return new Usage(typeof counts === 'object' && !Array.isArray(counts) ? { requests: 1, ...counts } : {});
}

/** Which parts of an answer were streamed. */
class Seen {
  text = false;
  reasoning = false;
  readonly calls = new Set<string>();
  unnamedCalls = false;

  add(delta: ModelDelta): void {
    if (delta.type !== 'arguments') this[delta.type] = true;
    else if (delta.callId === null) this.unnamedCalls = true;
    else this.calls.add(delta.callId);
  }
}

function* missing({ response }: Done, seen: Readonly<Seen>): Iterable<ModelDelta> {
  const { text, reasoning, unnamedCalls } = seen;
  for (const item of response.output) {
    if (item.type === 'reasoning' && !reasoning) {
      for (const part of item.rawContent ?? item.content) yield { type: 'reasoning', delta: part.text };
    } else if (item.type === 'function_call' && !unnamedCalls && !seen.calls.has(item.callId)) {
      yield { type: 'arguments', delta: item.arguments, callId: item.callId, tool: item.name };
    } else if (item.type === 'message' && !text) {
      for (const part of item.content) if (part.type === 'output_text') yield { type: 'text', delta: part.text };
    }
  }
}
