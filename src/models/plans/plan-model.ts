import { HoldfastError } from '../../core/errors/errors.js';
import { isObject, type JsonObject, type JsonValue } from '../../core/json.js';
import { type MadeCall, type NextTurn, nextTurn } from '../../core/plans/next-turn.js';
import { resultIn } from '../../core/plans/node-result.js';
import type { CompiledPlan } from '../../core/plans/plan.js';
import { readPlanInput } from '../../core/plans/plan-input.js';
import { ProgramModel, type ProgramOutput, resultsIn, said } from '../program-model.js';

/** Where a call says which node it is of. */
const NODE = 'planNode';

/** Reads a plan, and what it is given, from the input of a run. Throws `plan_invalid`. */
export interface PlanReader {
  readInput(input: JsonValue): { readonly plan: CompiledPlan; readonly input: JsonValue };
}

export const isReader = (source: CompiledPlan | PlanReader): source is PlanReader => 'readInput' in source;

/** A plan in the place of a model: from what its calls gave it says what is called next. */
export class PlanModel extends ProgramModel {
  override readonly kind = 'plan';
  readonly name: string;
  /** The plan of all runs, or what reads the one that a run brings. */
  readonly source: CompiledPlan | PlanReader;

  constructor(name: string, source: CompiledPlan | PlanReader) {
    super();
    this.name = name;
    this.source = source;
  }

  protected override outputOf(items: readonly JsonObject[]): ProgramOutput {
    const { plan, input } = this.#read(items.filter(isSaid));
    return outputOf(nextTurn(plan, input, madeCalls(items)));
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

/** The calls of the plan in the order in which they were made, with what they gave. */
function madeCalls(items: readonly JsonObject[]): readonly MadeCall[] {
  const results = resultsIn(items);
  return items.flatMap((item): MadeCall[] => {
    if (item['type'] !== 'function_call') return [];
    const { providerData, name, callId } = item;
    const node = isObject(providerData) ? providerData[NODE] : undefined;
    return [{ node: String(node ?? callId), tool: String(name), result: resultIn(results.get(callId) ?? '') }];
  });
}

function outputOf(next: NextTurn): ProgramOutput {
  if (next.type === 'output') return [said(JSON.stringify(next.output))];
  return next.calls.map(({ node, tool, arguments: given }) => ({
    ...{ type: 'function_call', callId: node, name: tool, status: 'completed' },
    ...{ arguments: JSON.stringify(given), providerData: { [NODE]: node } },
  }));
}
