import { AgentsError } from '@openai/agents';
import { Ollama } from 'ollama/browser';
import { z } from 'zod';
import { HoldfastError } from '../../core/errors/errors.js';
import { isRecord, parseJson } from '../../core/json.js';
import { tokenCount } from '../budgets/usage-tokens.js';
import { messageIn, signInLink } from '../failures/error-answer.js';
import { causesOf, isAbort, isNetwork, statusOf } from '../failures/failure-causes.js';
import { failureText } from '../failures/failure-text.js';
import { ModelCallError } from '../failures/model-call-error.js';
import { classifyModelFailure } from '../failures/model-failure.js';
import { endpointFetch } from '../openai/endpoint-fetch.js';
import { abortError, throwIfAborted } from '../providers/abort.js';
import { type EmbeddingRequest, firstProblem, wrongEmbeddings } from '../providers/embedding-provider.js';
import type { OllamaTarget } from './ollama-host.js';
import { type OllamaChunk, type OllamaRequest, ollamaChunk } from './ollama-wire.js';

/** Longer than any answer of one line: what exceeds it is no answer of Ollama. */
const MAX_LINE_CHARS = 16 * 1024 * 1024;
/** Of a whole answer, so that a server that never ends it costs a bounded time and memory. */
const MAX_ANSWER_BYTES = 64 * 1024 * 1024;

const line = z.looseObject({ done: z.boolean().nullish(), error: z.unknown().optional() });

/**
 * Passes on the lines of an answer, whole and not blank, up to the one that is done. The stream fails with a ModelCallError
 * for a line that is no JSON object, for the server's `{"error": …}` and for an answer that ends before it is done: the
 * parser of the `ollama` package would print the first to the console and lose the others.
 */
function ollamaLines(): TransformStream<Uint8Array, Uint8Array> {
  const decoder = new TextDecoder();
  const encoder = new TextEncoder();
  let held = '';
  let isDone = false;
  let sizeBytes = 0;

  const pass = (text: string, controller: TransformStreamDefaultController<Uint8Array>): void => {
    if (isDone || text.trim() === '') return;
    isDone = isLast(text);
    controller.enqueue(encoder.encode(`${text.trim()}\n`));
  };
  const take = (text: string, controller: TransformStreamDefaultController<Uint8Array>): void => {
    const parts = text.split('\n');
    const end = parts.pop() ?? '';
    for (const part of parts) {
      pass(held + part, controller);
      held = '';
    }
    held += end;
    if (held.length > MAX_LINE_CHARS) throw tooLong('a line is longer than any answer');
  };
  return new TransformStream({
    transform: (bytes, controller) => {
      sizeBytes += bytes.length;
      if (sizeBytes > MAX_ANSWER_BYTES) throw tooLong('it is larger than 64 MiB');
      take(decoder.decode(bytes, { stream: true }), controller);
    },
    flush: (controller) => {
      take(`${decoder.decode()}\n`, controller);
      if (!isDone) throw broken('it ended before it was done', '');
    },
  });
}

function isLast(text: string): boolean {
  const parsed = line.safeParse(json(text));
  if (!parsed.success) throw broken('a line of it is not a JSON object', text);
  const { done, error } = parsed.data;
  if (error !== undefined && error !== null) {
    const said = typeof error === 'string' ? error : JSON.stringify(error);
    throw new ModelCallError('model_failed', failureText(said), { retryable: true });
  }
  return done === true;
}

function json(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return undefined;
  }
}

const tooLong = (why: string) =>
  new ModelCallError('model_failed', `The answer is broken: ${why}.`, { retryable: false });

const broken = (why: string, text: string) =>
  new ModelCallError('model_failed', `The answer is broken: ${why}${text === '' ? '' : `: ${failureText(text)}`}.`, {
    retryable: true,
  });

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
  const client = new ChatClient({ host: target.host, fetch: checkedFetch(target, signal, wire, 'lines') });
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

const answerOfEmbed = z.looseObject({
  embeddings: z.array(z.array(z.number())),
  prompt_eval_count: z.unknown().optional(),
});

/** Asks `POST /api/embed` once. A text that is longer than the context of the model is cut by the server. */
export async function ollamaEmbeddings(
  target: OllamaTarget,
  { texts, signal, used }: EmbeddingRequest,
  wire: OllamaWire,
): Promise<readonly (readonly number[])[]> {
  try {
    throwIfAborted(signal);
    const client = new Ollama({ host: target.host, fetch: checkedFetch(target, signal, wire, 'whole') });
    const made: unknown = await client.embed({ model: target.model, input: [...texts] });
    const result = answerOfEmbed.safeParse(made);
    if (!result.success) throw wrongEmbeddings(target.model, firstProblem(result.error));
    const { embeddings, prompt_eval_count: counted } = result.data;
    const tokens = tokenCount(counted);
    if (tokens !== null) used?.(tokens);
    if (embeddings.length !== texts.length)
      throw wrongEmbeddings(target.model, `it has ${embeddings.length} for ${texts.length} texts`);
    return embeddings;
  } catch (error) {
    throw signal?.aborted === true ? abortError(signal) : ollamaFailure(error, target, false);
  }
}

/** `lines`: the answer comes in lines, the last of them says that it is done. */
function checkedFetch(
  { host, authorization }: OllamaTarget,
  signal: AbortSignal | undefined,
  { timeoutMs, send }: OllamaWire,
  form: 'lines' | 'whole',
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
    if (response.body === null || form === 'whole') return response;
    return new Response(response.body.pipeThrough(ollamaLines()));
  };
}

/**
 * What a failed call throws: a ModelCallError that names the model, its host and the way out. Wrong requests, wrong answers
 * and aborts stay what they are.
 */
export function ollamaFailure(error: unknown, target: OllamaTarget, responseStarted: boolean): unknown {
  const chain = causesOf(error);
  if (isAbort(error) || error instanceof AgentsError) return error;
  if (error instanceof HoldfastError && !(error instanceof ModelCallError)) return error;
  const { code, message, retryable, retryAfterMs, hint: known } = classifyModelFailure(error);
  const statusCode = chain.map(statusOf).find((status) => status !== null) ?? null;
  const refused = chain.find((item) => item instanceof StatusError);
  const hint = known ?? signInOf(refused, target) ?? wayOut(target, code, statusCode, message, chain.some(isNetwork));
  return new ModelCallError(
    code === 'model_unknown' ? code : 'model_failed',
    failureText(`${target.model} at ${target.host}: ${message}`),
    {
      statusCode: error instanceof ModelCallError ? error.statusCode : statusCode,
      retryable,
      retryAfterMs,
      responseStarted,
      cause: error,
      ...(hint === null ? {} : { hint }),
    },
  );
}

/** A server that is not signed in at Ollama's cloud needs no key of ours. */
function signInOf(error: StatusError | undefined, { host }: OllamaTarget): string | null {
  if (error?.signIn == null || (error.status !== 401 && error.status !== 403)) return null;
  const { link } = error.signIn;
  return `Sign in: run "ollama signin" at ${host}${link === null ? '' : `, or open ${link}`}.`;
}

function wayOut(target: OllamaTarget, code: string, status: number | null, message: string, network: boolean) {
  if (code === 'model_unknown') return `Run "ollama pull ${target.model}" on ${target.host}, or use another model.`;
  if (status === 401 || status === 403) return `Check the key for ${target.host}.`;
  if (network) return 'Start the Ollama server, or set OLLAMA_HOST to where it runs.';
  if (/does not support tools/i.test(message)) return 'Use a model that supports tools, or an agent without tools.';
  return null;
}
