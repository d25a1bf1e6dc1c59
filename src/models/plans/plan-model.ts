import { type Model, type ModelRequest, type ModelResponse, type StreamEvent, Usage } from '@openai/agents';
import { HoldfastError } from '../../core/errors/errors.js';
import { isObject, type JsonObject, type JsonValue, toJson } from '../../core/json.js';
import { type MadeCall, type NextTurn, nextTurn } from '../../core/plans/next-turn.js';
import { resultIn } from '../../core/plans/node-result.js';
import type { CompiledPlan } from '../../core/plans/plan.js';
import { readPlanInput } from '../../core/plans/plan-input.js';
import { FinalModelError } from '../failures/model-call-error.js';
import { throwIfAborted } from '../providers/abort.js';
import { responseEvents } from '../providers/response-events.js';

/** Where a call says which node it is of. */
const NODE = 'planNode';

/** Reads a plan, and what it is given, from the input of a run. Throws `plan_invalid`. */
export interface PlanReader {
  readInput(input: JsonValue): { readonly plan: CompiledPlan; readonly input: JsonValue };
}

export const isReader = (source: CompiledPlan | PlanReader): source is PlanReader => 'readInput' in source;

/**
 * A plan in the place of a model: from what its calls gave it says what is called next. It reads nothing but the request, so that a replay
 * hears the same. No tokens, no costs.
 */
export class PlanModel implements Model {
  readonly name: string;
  /** The plan of all runs, or what reads the one that a run brings. */
  readonly source: CompiledPlan | PlanReader;

  constructor(name: string, source: CompiledPlan | PlanReader) {
    this.name = name;
    this.source = source;
  }

  async getResponse(request: ModelRequest): Promise<ModelResponse> {
    throwIfAborted(request.signal);
    const items = itemsOf(request);
    const made = madeCalls(items);
    const next = this.#nextTurn(items, made);
    return { output: outputOf(next), usage: new Usage(), responseId: `plan_${made.length}` };
  }

  async *getStreamedResponse(request: ModelRequest): AsyncIterable<StreamEvent> {
    yield { type: 'response_started' };
    yield* responseEvents(await this.getResponse(request));
  }

  #nextTurn(items: readonly JsonObject[], made: readonly MadeCall[]): NextTurn {
    try {
      const { plan, input } = this.#read(items.filter(isSaid));
      return nextTurn(plan, input, made);
    } catch (error) {
      if (!(error instanceof HoldfastError)) throw error;
      throw new FinalModelError(error.code, error.message, { cause: error });
    }
  }

  #read(said: JsonValue): { readonly plan: CompiledPlan; readonly input: JsonValue } {
    const { source } = this;
    if (isReader(source)) return source.readInput(said);
    const input = readPlanInput(source, said);
    if (input.ok) return { plan: source, input: input.value };
    const problems = input.problems.map(({ pointer, detail }) => `/input${pointer}: ${detail}`).join('; ');
    throw new HoldfastError('plan_failed', `The plan ${this.name} cannot begin: ${problems}.`);
  }
}

const isSaid = (item: JsonObject): boolean => item['type'] === 'message' || item['type'] === undefined;

function itemsOf({ input }: ModelRequest): readonly JsonObject[] {
  const items = toJson(input);
  return Array.isArray(items) ? items.filter(isObject) : [{ type: 'message', role: 'user', content: items }];
}

/** The calls of the plan in the order in which they were made, with what they gave. */
function madeCalls(items: readonly JsonObject[]): readonly MadeCall[] {
  const results = new Map(
    items.flatMap((item) =>
      item['type'] === 'function_call_result' ? [[item['callId'], textOf(item['output'])]] : [],
    ),
  );
  return items.flatMap((item): MadeCall[] => {
    if (item['type'] !== 'function_call') return [];
    const { providerData, name, callId } = item;
    const node = isObject(providerData) ? providerData[NODE] : undefined;
    return [{ node: String(node ?? callId), tool: String(name), result: resultIn(results.get(callId) ?? '') }];
  });
}

/** The text of a result: the SDK wraps texts. */
const textOf = (output: JsonValue | undefined): string => {
  const said = isObject(output) ? output['text'] : output;
  return typeof said === 'string' ? said : '';
};

function outputOf(next: NextTurn): ModelResponse['output'] {
  if (next.type === 'output') {
    const text = JSON.stringify(next.output);
    return [{ type: 'message', role: 'assistant', status: 'completed', content: [{ type: 'output_text', text }] }];
  }
  return next.calls.map(({ node, tool, arguments: given }) => ({
    ...{ type: 'function_call', callId: node, name: tool, status: 'completed' },
    ...{ arguments: JSON.stringify(given), providerData: { [NODE]: node } },
  }));
}
