import type { FieldError } from '../errors/errors.js';
import { HoldfastError } from '../errors/errors.js';
import { parsePattern } from '../grants/capability-text.js';
import type { GrantInput } from '../grants/grants.js';
import { addTo } from '../grouped.js';
import type { ToolSpec } from '../tools/tool.js';
import { invalidPlan, type PlanTools } from './compile-plan.js';
import type { CompiledCall, CompiledPlan } from './plan.js';
import { fillTemplate, readTemplate } from './template.js';

/** What a plan may need at most, as grants: of its own calls, and of the runs that it starts. */
export interface Closure {
  /** Capabilities that its calls need, with these calls. */
  readonly own: ReadonlyMap<string, readonly CompiledCall[]>;
  /** Capabilities that agents of its nodes hold, which it must be able to pass on. */
  readonly passedOn: ReadonlyMap<string, readonly CompiledCall[]>;
}

/** What an agent of the configuration is granted; undefined: there is none of this name. */
export type GrantsOfAgent = (agent: string) => readonly string[] | undefined;

/** Everything that a plan can ever need. Throws `plan_invalid` where a node does not say it. */
export function closureOf(name: string, plan: CompiledPlan, tools: PlanTools, grantsOf: GrantsOfAgent): Closure {
  const own = new Map<string, CompiledCall[]>();
  const passedOn = new Map<string, CompiledCall[]>();
  const problems: FieldError[] = [];
  for (const call of plan.calls) {
    const needed = neededBy(call, tools);
    if (!Array.isArray(needed)) problems.push(needed as FieldError);
    else for (const capability of needed) addTo(own, capability, call);
    const unfit = problemOfConstant(call, tools.get(call.tool));
    if (unfit !== null) problems.push(unfit);
    if (call.node.type !== 'agent') continue;
    const granted = grantsOf(call.node.agent);
    if (granted === undefined)
      problems.push({ pointer: `${call.at}/agent`, detail: `there is no agent ${call.node.agent}` });
    for (const capability of granted ?? []) addTo(passedOn, capability, call);
  }
  if (problems.length > 0) throw invalidPlan(name, problems);
  return { own, passedOn };
}

/** The closure as a layer of grants; a plan can do no more than this, also where it holds more. */
export const grantsOfClosure = ({ own, passedOn }: Closure): GrantInput[] => [
  ...[...own.keys()].map((capability) => ({ capability, effect: 'allow' as const })),
  ...[...passedOn.keys()].map((capability) => ({
    ...{ capability, effect: 'allow' as const, use: false, delegate: true },
  })),
];

function neededBy({ at, node, tool, arguments: given, stated }: CompiledCall, tools: PlanTools): string[] | FieldError {
  const spec = tools.get(tool);
  if (spec === undefined) return { pointer: `${at}/tool`, detail: `there is no tool ${tool}` };
  if (node.type === 'wait' && node.event !== undefined) return [`event:wait:${node.event}`];
  if (stated !== null) return statedIn(at, stated);
  const needed = capabilitiesOfAnyInput(spec) ?? capabilitiesOfConstant(spec, given);
  return (
    needed ?? {
      pointer: `${at}/capabilities`,
      detail: `${tool} computes from its arguments what it needs; state here what that is at most`,
    }
  );
}

/** What is wrong with a call of a question, an agent or a wait that says the same in each run; null: nothing is known to be. */
function problemOfConstant(
  { at, node, arguments: given }: CompiledCall,
  spec: ToolSpec | undefined,
): FieldError | null {
  // Those of tools were checked when the plan was read.
  if (spec === undefined || node.type === 'tool' || readTemplate(given, '').references.length > 0) return null;
  const parsed = spec.parse(fillTemplate(given, {}));
  return parsed.ok ? null : { pointer: at, detail: parsed.problem.replace(/\.$/, '') };
}

function statedIn(at: string, stated: readonly string[]): string[] | FieldError {
  for (const [index, capability] of stated.entries()) {
    try {
      parsePattern(capability);
    } catch (error) {
      if (!(error instanceof HoldfastError)) throw error;
      return { pointer: `${at}/capabilities/${index}`, detail: error.message.replace(/\.$/, '') };
    }
  }
  return [...stated];
}

const lookedAt = (): never => {
  throw new Error('looked at');
};

/** An input that shows whether it is looked at: at its members, at their names, or whether one is there. */
const UNREADABLE: object = new Proxy(
  {},
  { get: lookedAt, has: lookedAt, ownKeys: lookedAt, getOwnPropertyDescriptor: lookedAt, getPrototypeOf: lookedAt },
);

/** What a tool needs for every input; null: that depends on the input. */
function capabilitiesOfAnyInput(spec: ToolSpec): string[] | null {
  try {
    return [...spec.capabilitiesOf(UNREADABLE)];
  } catch {
    return null;
  }
}

function capabilitiesOfConstant(spec: ToolSpec, given: CompiledCall['arguments']): string[] | null {
  if (readTemplate(given, '').references.length > 0) return null;
  const parsed = spec.parse(fillTemplate(given, {}));
  if (!parsed.ok) return null;
  try {
    return [...spec.capabilitiesOf(parsed.input)];
  } catch {
    return null;
  }
}
