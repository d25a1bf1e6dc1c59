import { AgentsError, type ModelRequest, type ModelResponse, type StreamEvent } from '@openai/agents';
import { APIError } from 'openai';
import { HoldfastError } from '../../core/errors/errors.js';
import { causesOf, isAbort, isNetwork, statusOf } from '../failures/failure-causes.js';
import { failureText } from '../failures/failure-text.js';
import { CutAnswer, ModelCallError } from '../failures/model-call-error.js';
import { classifyModelFailure } from '../failures/model-failure.js';
import { abortError, throwIfAborted } from '../providers/abort.js';
import type { Destination, Endpoint } from './endpoint.js';

/**
 * What a failed call throws: a ModelCallError that names the model, its host and the way out. Wrong requests, wrong answers
 * and aborts stay what they are.
 */
export function endpointFailure(
  error: unknown,
  endpoint: Destination,
  model: string,
  responseStarted: boolean,
): unknown {
  const chain = causesOf(error);
  if (isAbort(error) || error instanceof AgentsError || error instanceof CutAnswer) return error;
  // What our own `fetch` threw comes wrapped by the `openai` package.
  const own = chain.find((item) => item instanceof HoldfastError);
  if (own !== undefined && !(own instanceof ModelCallError)) return own;
  const { code, message, retryable, retryAfterMs, hint: known } = classifyModelFailure(own ?? error);
  const statusCode = own?.statusCode ?? chain.map(statusOf).find((status) => status !== null) ?? null;
  const hint = known ?? wayOut(endpoint, code, statusCode, own === undefined && chain.some(isNetwork));
  return new ModelCallError(
    code === 'model_unknown' ? code : 'model_failed',
    failureText(`${model} at ${endpoint.host}: ${message}`),
    {
      statusCode,
      retryable: retryable || (own === undefined && isAccident(error)),
      retryAfterMs,
      responseStarted,
      usage: own?.usage ?? null,
      cause: own ?? error,
      ...(hint === null ? {} : { hint }),
    },
  );
}

const FAULT_OF_REQUEST = /invalid|quota|context_length|too_long|content|policy|unsupported/;

/** What a server says inside an answer that began well happened to it later: the request was taken. Unless it says otherwise. */
const isAccident = (error: unknown): boolean =>
  error instanceof APIError && error.status === undefined && !FAULT_OF_REQUEST.test(`${error.code} ${error.type}`);

function wayOut({ title, host, credentials }: Destination, code: string, status: number | null, network: boolean) {
  if (code === 'model_unknown') return `Use a model that ${title} has.`;
  if (status === 401 || status === 403) {
    const [key] = credentials;
    return key === undefined
      ? `Configure a key for ${host}.`
      : `Check the key for ${host}; it comes from ${key.secret.place}.`;
  }
  if (status === 402) return `Look after the account at ${title}.`;
  return network ? `Check that the server at ${host} runs, and the address (baseURL).` : null;
}

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
