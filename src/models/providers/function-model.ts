import { type Model, type ModelRequest, type ModelResponse, type StreamEvent, Usage } from '@openai/agents';
import { sha256, toJson } from '../../core/json.js';
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
 * call whose `callId` is empty gets one that is derived from the request and its place in the answer.
 */
export function functionModel(
  name: string,
  respond: (request: ModelRequest) => FunctionModelAnswer | Promise<FunctionModelAnswer>,
  options: FunctionModelOptions = {},
): FunctionModel {
  return new FunctionModel(name, respond, options.delayMs ?? 0);
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
