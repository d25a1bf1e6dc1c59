import { Ollama } from 'ollama/browser';
import { z } from 'zod';
import { HoldfastError } from '../../core/errors/errors.js';
import { messageIn } from '../failures/error-answer.js';
import { ModelCallError } from '../failures/model-call-error.js';
import { DEFAULT_TIMEOUT_MS } from '../openai/endpoint.js';
import { endpointFetch } from '../openai/endpoint-fetch.js';
import { abortError, throwIfAborted } from '../providers/abort.js';
import type { OllamaTarget } from './ollama-host.js';
import { ollamaLines } from './ollama-lines.js';
import { type OllamaChunk, type OllamaRequest, ollamaChunk } from './ollama-wire.js';

/**
 * The door to the `ollama` package. Its entry for browsers is used: that for Node reads the file that an image's base64
 * happens to name. The request goes through `processStreamableRequest`, as the types of `chat` lack fields of the protocol.
 */
class ChatClient extends Ollama {
  async chunks(request: OllamaRequest): Promise<AsyncIterable<unknown> & { abort(): void }> {
    if (typeof this.processStreamableRequest !== 'function') throw changed('processStreamableRequest is gone');
    const answer = await this.processStreamableRequest('chat', { ...request, stream: true });
    if (!(Symbol.asyncIterator in answer)) throw changed('a streamed request gives no stream');
    return answer;
  }
}

const changed = (what: string) => new HoldfastError('library_changed', `The ollama package is another one: ${what}.`);

/** An answer that is not "200 OK", before the `ollama` package prints that it reads it. */
class StatusError extends Error {
  readonly status: number;
  readonly headers: Headers;

  constructor(response: Response, body: string) {
    super(body === '' ? `${response.status} ${response.statusText}` : body);
    this.name = 'OllamaStatusError';
    this.status = response.status;
    this.headers = response.headers;
  }
}

/**
 * One question and its answer, chunk by chunk; always streamed, so that an answer may take longer than the 5 minutes in
 * which `fetch` wants to see its beginning. A client per question: it owns the connection of this question alone, and
 * leaving the loop closes it. Throws an AbortError when the signal fires, a StatusError, or what `fetch` throws.
 */
export async function* ollamaChunks(
  target: OllamaTarget,
  request: OllamaRequest,
  signal: AbortSignal | undefined,
  send: typeof fetch | null = null,
): AsyncGenerator<OllamaChunk, void, undefined> {
  throwIfAborted(signal);
  const client = new ChatClient({ host: target.host, fetch: checkedFetch(target, signal, send) });
  let answer: Awaited<ReturnType<ChatClient['chunks']>> | undefined;
  try {
    answer = await client.chunks(request);
    for await (const chunk of answer) yield parsed(chunk);
  } catch (error) {
    throw signal?.aborted === true ? abortError(signal) : error;
  } finally {
    answer?.abort();
  }
}

function parsed(chunk: unknown): OllamaChunk {
  const result = ollamaChunk.safeParse(chunk);
  if (result.success) return result.data;
  const why = z.prettifyError(result.error).replace(/\s+/g, ' ');
  throw new ModelCallError('model_failed', `The answer is not one of Ollama: ${why}`, { retryable: false });
}

function checkedFetch(
  { host, authorization }: OllamaTarget,
  signal: AbortSignal | undefined,
  send: typeof fetch | null,
): typeof fetch {
  const ask = endpointFetch({
    ...{ title: 'Ollama', baseURL: host, host, addressSetting: 'OLLAMA_HOST, or baseURL', headers: {} },
    credentials: authorization === null ? [] : [authorization],
    timeoutMs: DEFAULT_TIMEOUT_MS,
    send,
  });
  return async (input, init) => {
    const signals = [signal, init?.signal].filter((one) => one instanceof AbortSignal);
    const response = await ask(input, { ...init, signal: AbortSignal.any(signals) });
    if (!response.ok) throw new StatusError(response, messageIn(await response.json().catch(() => null)) ?? '');
    return response.body === null ? response : new Response(response.body.pipeThrough(ollamaLines()));
  };
}
