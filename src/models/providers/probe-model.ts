import {
  type AgentInputItem,
  type Model,
  type ModelRequest,
  type ModelResponse,
  type protocol,
  setTracingDisabled,
  withTrace,
} from '@openai/agents';
import { ERRORS } from '../../core/errors/errors.js';
import { isRecord } from '../../core/json.js';
import { failureText } from '../failures/failure-text.js';
import { ModelCallError } from '../failures/model-call-error.js';
import { classifyModelFailure } from '../failures/model-failure.js';
import { chargedUsage, finishReasonIn } from './answer-terms.js';
import { fitsSchema } from './json-schema.js';
import { streamedResponse } from './streamed-response.js';

/** What one answer is charged for, beside what its server said. */
interface ProbedUsage {
  /** Null: the server did not count. */
  readonly charged: { readonly inputTokens: number; readonly outputTokens: number } | null;
  /** Null: the server gave no total. */
  readonly total: number | null;
}

/** What the APIs call the total of one answer. */
const TOTALS = ['total_tokens', 'totalTokens', 'totalTokenCount'];

function probedUsage(response: ModelResponse): ProbedUsage {
  const { rawUsage = {} } = response;
  const totals = TOTALS.map((name) => rawUsage[name]).filter((count) => typeof count === 'number');
  const { inputTokens, outputTokens } = chargedUsage(response) ?? { inputTokens: 0, outputTokens: 0 };
  const charged = inputTokens + outputTokens === 0 ? null : { inputTokens, outputTokens };
  return { charged, total: totals[0] ?? null };
}

const sum = (counts: readonly number[]): number => counts.reduce((all, count) => all + count, 0);

/** Whether the tokens that are charged are those that the server counts. */
function usageRow(usages: readonly ProbedUsage[]): ProbeRow {
  const counted = usages.flatMap(({ charged }) => charged ?? []);
  const inputTokens = sum(counted.map((one) => one.inputTokens));
  const outputTokens = sum(counted.map((one) => one.outputTokens));
  const row = { check: 'usage', ms: null, inputTokens, outputTokens };
  const unknown = usages.length - counted.length;
  if (unknown > 0)
    return {
      ...{ ...row, status: 'warn', detail: `${unknown} of ${usages.length} answers have no count of tokens` },
      wayOut: 'Expect calls without a price: a budget in dollars cannot count them.',
    };
  const totals = usages.flatMap(({ total }) => total ?? []);
  const charged = inputTokens + outputTokens;
  if (totals.length < usages.length)
    return { ...row, status: 'ok', detail: `${charged} tokens are charged; the server gives no total`, wayOut: null };
  const total = sum(totals);
  if (total === charged)
    return { ...row, status: 'ok', detail: `${charged} tokens are charged, as the server counts them`, wayOut: null };
  return {
    ...{ ...row, status: 'warn', detail: `${charged} tokens are charged, and the server counts ${total}` },
    wayOut: 'Compare with the bill of the provider: a budget counts what is charged.',
  };
}

/** What one question to a server showed. `skip`: it was not asked, because of what failed before. */
export interface ProbeRow {
  readonly check: string;
  readonly status: 'ok' | 'warn' | 'fail' | 'skip';
  readonly ms: number | null;
  readonly inputTokens: number | null;
  readonly outputTokens: number | null;
  readonly detail: string;
  /** What to do about it; null: nothing is to do. */
  readonly wayOut: string | null;
}

interface ProbeLimits {
  /** For all questions together. */
  readonly withinMs: number;
  /** For each answer. */
  readonly maxTokens: number;
}

const QUESTIONS = ['answer', 'stream', 'tool call', 'second turn', 'schema'] as const;
type Question = (typeof QUESTIONS)[number];

const TOOL: ModelRequest['tools'][number] = {
  type: 'function',
  name: 'weather',
  description: 'Gives the weather of a city, now.',
  parameters: {
    type: 'object',
    properties: { city: { type: 'string', description: 'The name of the city.' } },
    required: ['city'],
    additionalProperties: false,
  },
  strict: true,
};

const SCHEMA = {
  type: 'object',
  properties: { city: { type: 'string' }, degrees: { type: 'number' } },
  required: ['city', 'degrees'],
  additionalProperties: false,
};

const FORM: Exclude<ModelRequest['outputType'], 'text'> = JSON.parse(
  JSON.stringify({ type: 'json_schema', name: 'weather', strict: true, schema: SCHEMA }),
);

const ASKED_TOOL: AgentInputItem = { role: 'user', content: 'What is the weather in Oslo? Call the tool.' };
const SHOWN_MAX = 60;

type Judged = Pick<ProbeRow, 'status' | 'detail' | 'wayOut'>;
const works = (detail: string): Judged => ({ status: 'ok', detail, wayOut: null });
const shaky = (detail: string, wayOut: string): Judged => ({ status: 'warn', detail, wayOut });
const broken = (detail: string, wayOut: string): Judged => ({ status: 'fail', detail, wayOut });

/**
 * Asks a model five questions, each once, and says what works with its server. Never throws for what the server does. The first
 * question that finds no server, no model or no right to ask is the last one.
 */
export async function probeModel(model: Model, { withinMs, maxTokens }: ProbeLimits): Promise<readonly ProbeRow[]> {
  // The SDK's own models want a trace around each call, which is to leave the process for no one.
  setTracingDisabled(true);
  return await withTrace('doctor', () => new Probe(model, maxTokens, AbortSignal.timeout(withinMs)).rows());
}

class Probe {
  readonly #model: Model;
  readonly #maxTokens: number;
  readonly #signal: AbortSignal;
  readonly #usages: ProbedUsage[] = [];
  readonly #rows: ProbeRow[] = [];
  #called: ModelResponse | null = null;
  #stop: string | null = null;

  constructor(model: Model, maxTokens: number, signal: AbortSignal) {
    this.#model = model;
    this.#maxTokens = maxTokens;
    this.#signal = signal;
  }

  async rows(): Promise<readonly ProbeRow[]> {
    for (const question of QUESTIONS) await this.#ask(question);
    if (this.#usages.length > 0) this.#rows.push(usageRow(this.#usages));
    return this.#rows;
  }

  async #ask(check: Question): Promise<void> {
    const skipped = this.#stop ?? (check === 'second turn' && this.#called === null ? 'no tool was called' : null);
    if (skipped !== null) {
      const detail = `not asked: ${skipped}`;
      this.#rows.push({ check, status: 'skip', ms: null, inputTokens: null, outputTokens: null, detail, wayOut: null });
      return;
    }
    const before = this.#usages.length;
    const start = performance.now();
    const judged = await this.#judged(check);
    const ms = Math.round(performance.now() - start);
    const charged = this.#usages.slice(before).at(-1)?.charged ?? null;
    const tokens = { inputTokens: charged?.inputTokens ?? null, outputTokens: charged?.outputTokens ?? null };
    this.#rows.push({ check, ms, ...tokens, ...judged });
  }

  async #judged(check: Question): Promise<Judged> {
    try {
      if (check === 'stream') return await this.#stream();
      if (check === 'tool call') return await this.#toolCall();
      if (check === 'second turn') return await this.#secondTurn();
      if (check === 'schema') return await this.#schema();
      return spoken(await this.#answer({ input: 'Reply with the one word pong.' }));
    } catch (error) {
      return this.#failure(error, check);
    }
  }

  #request(part: Partial<ModelRequest>): ModelRequest {
    return {
      systemInstructions: 'You are asked by a program that tests a server. Answer as shortly as possible.',
      ...{ input: '', tools: [], handoffs: [], outputType: 'text', tracing: false, signal: this.#signal },
      modelSettings: { maxTokens: this.#maxTokens, preserveRawUsage: true },
      ...part,
    };
  }

  async #answer(part: Partial<ModelRequest>): Promise<ModelResponse> {
    const response = await this.#model.getResponse(this.#request(part));
    this.#usages.push(probedUsage(response));
    return response;
  }

  async #stream(): Promise<Judged> {
    let pieces = 0;
    const request = this.#request({ input: 'Count from 1 to 10 in words.' });
    const response = await streamedResponse(this.#model, request, ({ type }) => {
      if (type === 'text') pieces++;
    });
    this.#usages.push(probedUsage(response));
    const judged = spoken(response);
    if (judged.status !== 'ok') return judged;
    if (pieces < 2)
      return shaky('the whole answer came in one piece', 'Look for a proxy that holds answers back: deltas come late.');
    return works(`${pieces} pieces`);
  }

  async #toolCall(): Promise<Judged> {
    const response = await this.#answer({ input: [ASKED_TOOL], tools: [TOOL] });
    const [call] = response.output.filter((item) => item.type === 'function_call');
    if (call === undefined)
      return broken(`no call, but ${shown(textOfOutput(response))}`, 'Use a model and a server that support tools.');
    this.#called = response;
    const city = cityIn(call.arguments);
    if (call.name === 'weather' && city !== null) return works(`weather(${shown(city)})`);
    return shaky(
      `${shown(call.name)} was called with ${shown(call.arguments)}`,
      'Expect calls that their tools refuse; a larger model makes fewer.',
    );
  }

  async #secondTurn(): Promise<Judged> {
    const output = this.#called?.output ?? [];
    const results = output.flatMap((item) => (item.type === 'function_call' ? [resultOf(item)] : []));
    const response = await this.#answer({ input: [ASKED_TOOL, ...output, ...results], tools: [TOOL] });
    const judged = spoken(response);
    if (judged.status !== 'ok' || textOfOutput(response).includes('12')) return judged;
    return shaky(`${judged.detail} does not have the result of the tool`, 'Use a model that reads results of tools.');
  }

  async #schema(): Promise<Judged> {
    const input = 'It is 12 degrees in Oslo. Give this as an object with city and degrees.';
    const response = await this.#answer({ input, outputType: FORM });
    const judged = spoken(response);
    if (judged.status !== 'ok' || fitsSchema(textOfOutput(response), SCHEMA)) return judged;
    return broken(
      `${judged.detail} does not fit the schema`,
      "Set the quirk structuredOutput to json_object or prompt, or use an agent without 'outputType'.",
    );
  }

  #failure(error: unknown, check: Question): Judged {
    if (this.#signal.aborted) {
      this.#stop = 'the time is over';
      return broken('no end within the time for all questions', 'Look at the load of the server.');
    }
    const { code, message, hint } = classifyModelFailure(error);
    const status = error instanceof ModelCallError ? error.statusCode : null;
    const isRefused = code === 'model_unknown' || status === 401 || status === 402 || status === 403 || status === 429;
    if (isRefused || (check === 'answer' && status === null)) this.#stop = 'the server cannot be asked';
    return broken(message, hint ?? ERRORS[code].hint);
  }
}

const resultOf = ({ name, callId }: protocol.FunctionCallItem): protocol.FunctionCallResultItem => ({
  ...{ type: 'function_call_result', name, callId, status: 'completed' },
  output: { type: 'text', text: '12 degrees' },
});

/** Whether a model said something, and why its answer ended. */
function spoken(response: ModelResponse): Judged {
  const text = textOfOutput(response);
  const reason = finishReasonIn(response);
  if (reason === 'length')
    return broken('the answer was cut at its limit of tokens', 'Use a model that thinks less, or with less effort.');
  if (text.trim() === '') return broken('no text', 'Use another model.');
  return works(shown(text));
}

const textOfOutput = ({ output }: ModelResponse): string =>
  output
    .flatMap((item) => (item.type === 'message' && item.role === 'assistant' ? item.content : []))
    .map((part) => (part.type === 'output_text' ? part.text : ''))
    .join('');

/** What a model said, short and without keys. */
function shown(said: string): string {
  const text = failureText(said);
  return `"${text.length <= SHOWN_MAX ? text : `${text.slice(0, SHOWN_MAX - 1).toWellFormed()}…`}"`;
}

function cityIn(text: string): string | null {
  try {
    const value: unknown = JSON.parse(text);
    const city = isRecord(value) ? value['city'] : null;
    return typeof city === 'string' ? city : null;
  } catch {
    return null;
  }
}
