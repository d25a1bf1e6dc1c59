import { UserError } from '@openai/agents';
import { HoldfastError } from '../../core/errors/errors.js';
import { isRecord, jsonOrNull } from '../../core/json.js';
import { messageIn } from '../failures/error-answer.js';
import { causesOf, textOf } from '../failures/failure-causes.js';
import type { Destination } from '../openai/endpoint.js';
import { endpointFailure } from '../openai/endpoint-calls.js';

/** The kinds of Anthropic's errors by the status that they have outside of a stream. */
const STATUS_OF_KIND: { readonly [kind: string]: number } = {
  invalid_request_error: 400,
  authentication_error: 401,
  billing_error: 402,
  permission_error: 403,
  not_found_error: 404,
  request_too_large: 413,
  rate_limit_error: 429,
  api_error: 500,
  timeout_error: 504,
  overloaded_error: 529,
};

/** What the AI SDK refuses before it sends a request. */
const REFUSALS = new Set(['AI_UnsupportedFunctionalityError', 'AI_InvalidPromptError', 'AI_InvalidArgumentError']);

/** Reads an error of the AI SDK: returns what the failed call throws, as the other models of Holdfast throw it. */
export function nativeFailure(error: unknown, destination: Destination, model: string, started: boolean): unknown {
  const chain = causesOf(error);
  if (chain.some((item) => item instanceof HoldfastError)) return endpointFailure(error, destination, model, started);
  const refusal = chain.find((item) => REFUSALS.has(textOf(item, 'name') ?? ''));
  if (refusal !== undefined) return new UserError(`${model}: ${textOf(refusal, 'message')}`);
  return endpointFailure(said(error), destination, model, started);
}

/** The error of an answer, with the fields that `classifyModelFailure` judges. */
function said(error: unknown): unknown {
  if (!isRecord(error)) return error;
  const body = jsonOrNull(textOf(error, 'responseBody') ?? '') ?? error;
  const inner = isRecord(body) && isRecord(body['error']) ? body['error'] : body;
  const kind = textOf(inner, 'type');
  const status = STATUS_OF_KIND[kind ?? ''] ?? error['statusCode'];
  if (typeof status !== 'number' || status < 400) return error;
  const message = messageIn(body) ?? textOf(error, 'message') ?? '';
  return Object.assign(new Error(message, { cause: error['cause'] }), {
    ...{ status, code: textOf(inner, 'code') ?? undefined, type: kind ?? undefined },
    headers: headersOf(error['responseHeaders']),
  });
}

function headersOf(value: unknown): Headers {
  const headers = new Headers();
  for (const [name, text] of Object.entries(isRecord(value) ? value : {}))
    if (typeof text === 'string') headers.set(name, text);
  return headers;
}
