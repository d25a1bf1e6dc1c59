import { HoldfastError } from '../../core/errors/errors.js';
import { isObject, type JsonObject, type JsonValue } from '../../core/json.js';
import { type MadeCall, type NextTurn, nextTurn } from '../../core/plans/next-turn.js';
import { resultIn } from '../../core/plans/node-result.js';
import type { CompiledPlan } from '../../core/plans/plan.js';
import { readPlanInput } from '../../core/plans/plan-input.js';
import { ProgramModel, type ProgramOutput, type ProgramTurn, resultsIn, said } from '../program-model.js';

/** Where a call says which node it is of. */
const NODE = 'planNode';
/** Where a call that undoes says that the time of the run was over, and why. A replay and a fork read it here. */
const TIME_OVER = 'planTimeOver';

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

  /** A plan that nothing can read undoes nothing. */
  override undoes(input: JsonValue): boolean {
    const { source } = this;
    try {
      return undoesSome(isReader(source) ? source.readInput(input).plan : source);
    } catch (error) {
      if (error instanceof HoldfastError) return false;
      throw error;
    }
  }

  protected override outputOf(items: readonly JsonObject[], { recorded, timeOver }: ProgramTurn): ProgramOutput {
    const { plan, input } = this.#read(items.filter(isSaid));
    const over = recorded === null ? timeOver : (recorded.map(timeOverIn).find((why) => why !== null) ?? null);
    return outputOf(nextTurn(plan, input, madeCalls(items), undoesSome(plan) ? over : null));
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

const undoesSome = ({ nodes }: CompiledPlan): boolean => nodes.some(({ undo }) => undo !== null);

/** What a call says of the time of the run; null: nothing. */
function timeOverIn({ providerData }: JsonObject): string | null {
  const why = isObject(providerData) ? providerData[TIME_OVER] : undefined;
  return typeof why === 'string' ? why : null;
}

const isSaid = (item: JsonObject): boolean => item['type'] === 'message' || item['type'] === undefined;

/** The calls of the plan in the order in which they were made, with what they gave. */
function madeCalls(items: readonly JsonObject[]): readonly MadeCall[] {
  const results = resultsIn(items);
  return items.flatMap((item): MadeCall[] => {
    if (item['type'] !== 'function_call') return [];
    const { providerData, name, callId } = item;
    const node = isObject(providerData) ? providerData[NODE] : undefined;
    const made = { node: String(node ?? callId), tool: String(name), result: resultIn(results.get(callId) ?? '') };
    return [{ ...made, timeOver: timeOverIn(item) ?? undefined }];
  });
}

function outputOf(next: NextTurn): ProgramOutput {
  if (next.type === 'output') return [said(JSON.stringify(next.output))];
  return next.calls.map(({ node, tool, arguments: given }) => ({
    ...{ type: 'function_call', callId: node, name: tool, status: 'completed' },
    arguments: JSON.stringify(given),
    providerData: { [NODE]: node, ...(next.timeOver === undefined ? {} : { [TIME_OVER]: next.timeOver }) },
  }));
}
