import { Ollama } from 'ollama/browser';
import { z } from 'zod';
import { HoldfastError } from '../../core/errors/errors.js';
import { isRecord } from '../../core/json.js';
import { messageIn, signInLink } from '../failures/error-answer.js';
import { ModelCallError } from '../failures/model-call-error.js';
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
export class StatusError extends Error {
  readonly status: number;
  readonly headers: Headers;
  /** Whether the server wants a person to sign in, and the page for it. Null: it does not. */
  readonly signIn: { readonly link: string | null } | null;

  constructor(response: Response, said: unknown) {
    super(messageIn(said) || `${response.status} ${response.statusText}`);
    this.name = 'OllamaStatusError';
    this.signIn = isRecord(said) && 'signin_url' in said ? { link: signInLink(said) } : null;
    this.status = response.status;
    this.headers = response.headers;
  }
}

/** How requests leave, and how long the server may say nothing. */
export interface OllamaWire {
  readonly timeoutMs: number;
  /** Null: by the `fetch` of the process. */
  readonly send: typeof fetch | null;
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
  wire: OllamaWire,
): AsyncGenerator<OllamaChunk, void, undefined> {
  throwIfAborted(signal);
  const client = new ChatClient({ host: target.host, fetch: checkedFetch(target, signal, wire) });
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
  { timeoutMs, send }: OllamaWire,
): typeof fetch {
  const ask = endpointFetch({
    ...{ title: 'Ollama', baseURL: host, host, addressSetting: 'OLLAMA_HOST, or baseURL', headers: {} },
    credentials: authorization === null ? [] : [authorization],
    ...{ timeoutMs, send },
  });
  return async (input, init) => {
    const signals = [signal, init?.signal].filter((one) => one instanceof AbortSignal);
    const response = await ask(input, { ...init, signal: AbortSignal.any(signals) });
    if (!response.ok) throw new StatusError(response, await response.json().catch(() => null));
    return response.body === null ? response : new Response(response.body.pipeThrough(ollamaLines()));
  };
}
