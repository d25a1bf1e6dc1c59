import type { FieldError } from '../errors/errors.js';
import { HoldfastError } from '../errors/errors.js';
import { parsePattern } from '../grants/capability-text.js';
import type { GrantInput } from '../grants/grants.js';
import type { ToolSpec } from '../tools/tool.js';
import { invalidPlan, type PlanTools } from './compile-plan.js';
import type { CompiledNode, CompiledPlan } from './plan.js';
import { fillTemplate, readTemplate } from './template.js';

/** What a plan may need at most, as grants: of its own calls, and of the runs that it starts. */
export interface Closure {
  /** Capabilities of its calls, and the nodes that need them. */
  readonly own: ReadonlyMap<string, readonly string[]>;
  /** Capabilities that agents of its nodes hold, which it must be able to pass on. */
  readonly passedOn: ReadonlyMap<string, readonly string[]>;
}

/** What an agent of the configuration is granted; undefined: there is none of this name. */
export type GrantsOfAgent = (agent: string) => readonly string[] | undefined;

/** Everything that a plan can ever need. Throws `plan_invalid` where a node does not say it. */
export function closureOf(name: string, plan: CompiledPlan, tools: PlanTools, grantsOf: GrantsOfAgent): Closure {
  const own = new Map<string, string[]>();
  const passedOn = new Map<string, string[]>();
  const problems: FieldError[] = [];
  const add = (to: Map<string, string[]>, capability: string, id: string): void => {
    const nodes = to.get(capability);
    if (nodes === undefined) to.set(capability, [id]);
    else nodes.push(id);
  };
  for (const compiled of plan.nodes) {
    const needed = neededBy(compiled, tools);
    if (!Array.isArray(needed)) problems.push(needed as FieldError);
    else for (const capability of needed) add(own, capability, compiled.id);
    if (compiled.node.type !== 'agent') continue;
    const granted = grantsOf(compiled.node.agent);
    const at = `/nodes/${compiled.id}/agent`;
    if (granted === undefined) problems.push({ pointer: at, detail: `there is no agent ${compiled.node.agent}` });
    for (const capability of granted ?? []) add(passedOn, capability, compiled.id);
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

function neededBy({ id, node, tool, arguments: given }: CompiledNode, tools: PlanTools): string[] | FieldError {
  const spec = tools.get(tool);
  if (spec === undefined) return { pointer: `/nodes/${id}/tool`, detail: `there is no tool ${tool}` };
  if (node.type === 'wait' && node.event !== undefined) return [`event:wait:${node.event}`];
  if (node.type === 'tool' && node.capabilities !== undefined) return statedIn(id, node.capabilities);
  const needed = capabilitiesOfAnyInput(spec) ?? capabilitiesOfConstant(spec, given);
  return (
    needed ?? {
      pointer: `/nodes/${id}/capabilities`,
      detail: `${tool} computes from its arguments what it needs; state here what that is at most`,
    }
  );
}

function statedIn(id: string, stated: readonly string[]): string[] | FieldError {
  for (const [index, capability] of stated.entries()) {
    try {
      parsePattern(capability);
    } catch (error) {
      if (!(error instanceof HoldfastError)) throw error;
      return { pointer: `/nodes/${id}/capabilities/${index}`, detail: error.message.replace(/\.$/, '') };
    }
  }
  return [...stated];
}

/** An input that shows whether it is looked at. */
const UNREADABLE: object = new Proxy(
  {},
  {
    get: () => {
      throw new Error('looked at');
    },
  },
);

/** What a tool needs for every input; null: that depends on the input. */
function capabilitiesOfAnyInput(spec: ToolSpec): string[] | null {
  try {
    return [...spec.capabilitiesOf(UNREADABLE)];
  } catch {
    return null;
  }
}

function capabilitiesOfConstant(spec: ToolSpec, given: CompiledNode['arguments']): string[] | null {
  if (readTemplate(given, '').references.length > 0) return null;
  const parsed = spec.parse(fillTemplate(given, {}));
  if (!parsed.ok) return null;
  try {
    return [...spec.capabilitiesOf(parsed.input)];
  } catch {
    return null;
  }
}
