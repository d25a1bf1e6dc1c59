import { type Model, type ModelRequest, type ModelResponse, type StreamEvent, Usage } from '@openai/agents';
import type { FieldError } from '../../core/errors/errors.js';
import { invalidConfig } from '../../core/field-errors.js';
import { isRecord, sha256, toJson } from '../../core/json.js';
import { unknownNames } from '../../core/nearest-name.js';
import { throwIfAborted, wait } from './abort.js';
import { responseEvents } from './response-events.js';

export type FunctionModelAnswer = ModelResponse['output'] | ModelResponse;

export interface FunctionModelOptions {
  /** How long each call takes. Obeys the request's signal. Default 0. */
  readonly delayMs?: number;
}

/**
 * A scripted model: `respond` must be a pure function of the request, so that the model gives the same answer after a
 * restart. An answer without usage counts one token per 4 characters of the JSON that went in and came out. A function
 * call whose `callId` is empty gets one that is derived from the request and its place in the answer. Throws `config_invalid`.
 */
export function functionModel(
  name: string,
  respond: (request: ModelRequest) => FunctionModelAnswer | Promise<FunctionModelAnswer>,
  options: FunctionModelOptions = {},
): FunctionModel {
  assertFunctionModel(name, respond, options);
  return new FunctionModel(name, respond, options.delayMs ?? 0);
}

/** A program in JavaScript may give anything. Throws `config_invalid`. */
function assertFunctionModel(name: unknown, respond: unknown, options: unknown): void {
  const wrong: FieldError[] = [];
  if (typeof name !== 'string' || name === '') wrong.push({ pointer: '/name', detail: 'expected a text' });
  if (typeof respond !== 'function') wrong.push({ pointer: '/respond', detail: 'expected a function of the request' });
  if (isRecord(options)) wrong.push(...delayProblems(options));
  else wrong.push({ pointer: '/options', detail: 'expected an object of options' });
  if (wrong.length > 0) throw invalidConfig('A model of a function', wrong);
}

/** What is wrong with options that say how long each call takes. */
export function delayProblems(options: object): readonly FieldError[] {
  const { delayMs = 0 } = options as { readonly delayMs?: unknown };
  const isTime = typeof delayMs === 'number' && delayMs >= 0 && Number.isFinite(delayMs);
  return [
    ...unknownNames(options, ['delayMs']),
    ...(isTime ? [] : [{ pointer: '/delayMs', detail: 'expected milliseconds, 0 or more' }]),
  ];
}

export class FunctionModel implements Model {
  readonly name: string;
  readonly #respond: (request: ModelRequest) => FunctionModelAnswer | Promise<FunctionModelAnswer>;
  readonly #delayMs: number;

  constructor(
    name: string,
    respond: (request: ModelRequest) => FunctionModelAnswer | Promise<FunctionModelAnswer>,
    delayMs: number,
  ) {
    this.name = name;
    this.#respond = respond;
    this.#delayMs = delayMs;
  }

  async getResponse(request: ModelRequest): Promise<ModelResponse> {
    throwIfAborted(request.signal);
    if (this.#delayMs > 0) await wait(this.#delayMs, request.signal);
    const asked = askedText(this.name, request);
    const answer = await this.#respond(request);
    throwIfAborted(request.signal);
    return complete(asked, answer);
  }

  async *getStreamedResponse(request: ModelRequest): AsyncIterable<StreamEvent> {
    yield { type: 'response_started' };
    yield* responseEvents(await this.getResponse(request));
  }
}

/** What a model is asked, as text: equal for equal requests, whatever process they come from. */
function askedText(name: string, request: ModelRequest): string {
  const { systemInstructions, input, tools, handoffs, outputType, modelSettings } = request;
  return JSON.stringify([name, toJson({ systemInstructions, input, tools, handoffs, outputType, modelSettings })]);
}

function complete(asked: string, answer: FunctionModelAnswer): ModelResponse {
  const response = 'output' in answer ? answer : undefined;
  const digest = sha256(asked).slice('sha256:'.length, 'sha256:'.length + 24);
  const output = (response?.output ?? (Array.isArray(answer) ? answer : [])).map((item, index) =>
    item.type === 'function_call' && item.callId === '' ? { ...item, callId: `call_${digest}_${index}` } : item,
  );
  return {
    ...response,
    output,
    usage: response?.usage ?? countedUsage(asked, JSON.stringify(output)),
    responseId: response?.responseId ?? `resp_${digest}`,
  };
}

const CHARS_PER_TOKEN = 4;

function countedUsage(asked: string, answered: string): Usage {
  const inputTokens = Math.ceil(asked.length / CHARS_PER_TOKEN);
  const outputTokens = Math.ceil(answered.length / CHARS_PER_TOKEN);
  return new Usage({ requests: 1, inputTokens, outputTokens, totalTokens: inputTokens + outputTokens });
}
