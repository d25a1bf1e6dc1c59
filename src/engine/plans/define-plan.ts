import { Agent } from '@openai/agents';
import { HoldfastError } from '../../core/errors/errors.js';
import { isRecord } from '../../core/json.js';
import { unknownNames } from '../../core/nearest-name.js';
import { compilePlan, invalidPlan } from '../../core/plans/compile-plan.js';
import { agentToolName } from '../../core/plans/node-call.js';
import type { CompiledPlan, PlanDocument } from '../../core/plans/plan.js';
import type { ToolSpec } from '../../core/tools/tool.js';
import { PlanModel } from '../../models/plans/plan-model.js';
import type { ProgramModel } from '../../models/program-model.js';
import { type DeclaredTool, isDeclared, toolSpecOf } from '../../tools/define/define-tool.js';
import { subAgent } from '../../tools/define/sub-agent.js';
import { approvalTool } from '../../tools/plans/approve.js';
import { askHumanTool } from '../../tools/waiting/ask-human.js';
import { sleepTool } from '../../tools/waiting/sleep.js';
import { waitForEventTool } from '../../tools/waiting/wait-for-event.js';
import type { AgentDeclaration } from '../agents/define.js';

/** A program makes as many turns as it needs; children may take what is left. */
const MOST_TURNS = 10_000;

/** What a run of a program gives is JSON, whatever its shape. */
const jsonOutput = () => ({
  ...{ type: 'json_schema' as const, name: 'output', strict: false },
  schema: { type: 'object' as const, properties: {}, required: [], additionalProperties: true as const },
});

interface OfProgram {
  readonly name: string;
  readonly instructions: string;
  readonly model: ProgramModel;
  readonly tools: readonly DeclaredTool[];
}

/** An agent with a program in the place of its model. */
export function agentOfProgram(
  { tools, ...program }: OfProgram,
  rest: Omit<AgentDeclaration, 'agent' | 'onDenied'>,
): AgentDeclaration {
  const agent = new Agent({ ...program, tools: [...tools], outputType: jsonOutput() });
  // A call that is not granted is one that failed, which the program hears of.
  return { maxTurns: MOST_TURNS, ...rest, agent: agent as AgentDeclaration['agent'], onDenied: 'tell' };
}

type Kept = 'version' | 'grants' | 'allowEverything' | 'separateRequester' | 'concurrency' | 'rate' | 'environment';
type Limit = 'maxDurationMs' | 'maxElapsedMs' | 'maxTurns' | 'maxTotalTokens' | 'budget';

/** A plan with the tools that it calls and what it may do. */
export interface PlanDeclaration extends Pick<AgentDeclaration, Kept | Limit> {
  /** Runs of the plan are started by this name, like those of an agent. */
  readonly name: string;
  /** Its nodes: docs/agents/plans.md. */
  readonly plan: PlanDocument;
  /** Tools that its nodes name. */
  readonly tools?: readonly DeclaredTool[];
}

type Names<D> = { readonly [Name in keyof Required<D>]: true };

/** What every program may declare beside itself. */
export const KEPT_NAMES = {
  ...{ version: true, grants: true, allowEverything: true, separateRequester: true },
  ...{ concurrency: true, rate: true, environment: true },
} as const satisfies Names<Pick<AgentDeclaration, Kept>>;

const NAMES = {
  ...{ ...KEPT_NAMES, name: true, plan: true, tools: true },
  ...{ maxDurationMs: true, maxElapsedMs: true, maxTurns: true, maxTotalTokens: true, budget: true },
} as const satisfies Names<PlanDeclaration>;

/** What proposals may declare of their plans. */
export const { plan: _plan, ...PROPOSED_NAMES } = NAMES;

/** A program in JavaScript may give anything. Throws `plan_invalid`, which names each field that nothing reads. */
export function assertPlanNames(declaration: unknown, known: object): void {
  if (!isRecord(declaration)) throw invalidPlan('without a name', [{ pointer: '', detail: 'expected an object' }]);
  const unknown = unknownNames(declaration, Object.keys(known));
  if (unknown.length > 0) throw invalidPlan(String(declaration['name'] ?? 'without a name'), unknown);
}

/**
 * A plan among the `agents` of a configuration. Its runs are like those of an agent, and the plan says which calls come next. Throws
 * `plan_invalid`, which names every place that is wrong, and `tool_invalid`.
 */
export function definePlan(declaration: PlanDeclaration): AgentDeclaration {
  assertPlanNames(declaration, NAMES);
  const { name, plan: document, tools: own = [], ...rest } = declaration;
  if (typeof name !== 'string' || name === '')
    throw invalidPlan('without a name', [{ pointer: '/name', detail: 'expected a name' }]);
  if (!Array.isArray(own)) throw invalidPlan(name, [{ pointer: '/tools', detail: 'expected a list of tools' }]);
  for (const tool of own)
    if (typeof tool !== 'object' || tool === null || !isDeclared(tool))
      throw new HoldfastError('tool_invalid', `The plan ${name} has a tool that defineTool did not make.`);
  const plan = compilePlan(name, document, specsOf(own));
  const tools = [...own, ...toolsOfNodes(plan)];
  assertNamedApart(name, tools);
  const instructions = plan.document.description ?? `The plan ${name}.`;
  return agentOfProgram({ name, instructions, model: new PlanModel(name, plan), tools }, rest);
}

/** Throws `plan_invalid` where two tools have one name: a node would call the one and be judged by the other. */
export function assertNamedApart(name: string, tools: readonly { readonly name: string }[]): void {
  const double = tools.find((tool, index) => tools.findIndex((other) => other.name === tool.name) < index);
  if (double !== undefined)
    throw invalidPlan(name, [{ pointer: '/tools', detail: `two tools have the name ${double.name}` }]);
}

export const specsOf = (tools: readonly DeclaredTool[]): ReadonlyMap<string, ToolSpec> =>
  new Map(tools.map((tool) => [tool.name, toolSpecOf(tool)]));

/** The tools of nodes that name none: each once. */
export function toolsOfNodes({ calls }: CompiledPlan): DeclaredTool[] {
  const made = new Map<string, DeclaredTool>();
  const once = (name: string, make: () => DeclaredTool): void => {
    if (!made.has(name)) made.set(name, make());
  };
  for (const { node, tool } of calls) {
    if (node.type === 'agent') once(tool, () => subAgent({ agent: node.agent, name: agentToolName(node.agent) }));
    if (node.type === 'ask' && node.approval !== undefined) once(tool, () => approvalTool(node.approvals ?? 1));
    if (node.type === 'ask' && node.approval === undefined) once(tool, () => askHumanTool());
    if (node.type === 'wait') once(tool, () => (node.event === undefined ? sleepTool() : waitForEventTool()));
  }
  return [...made.values()];
}
