import type { Agent } from '@openai/agents';
import { z } from 'zod';
import { HoldfastError } from '../../core/errors/errors.js';
import { invalidRequest } from '../../core/field-errors.js';
import { type GrantInput, type GrantSet, parseGrants } from '../../core/grants/grants.js';
import { canonical, digestOf, isRecord, type JsonValue, parseJson } from '../../core/json.js';
import { type CallOfPlan, isApproved, textOfPlan } from '../../core/plans/approved-plan.js';
import { type Closure, closureOf, grantsOfClosure } from '../../core/plans/closure.js';
import { compilePlan, invalidPlan } from '../../core/plans/compile-plan.js';
import { agentToolName } from '../../core/plans/node-call.js';
import { type CompiledPlan, MOST_APPROVALS, planDocument } from '../../core/plans/plan.js';
import { readPlanInput, textIn } from '../../core/plans/plan-input.js';
import { PlanModel } from '../../models/plans/plan-model.js';
import { type DeclaredTool, isDeclared } from '../../tools/define/define-tool.js';
import { subAgent } from '../../tools/define/sub-agent.js';
import { approvalTool } from '../../tools/plans/approve.js';
import { askHumanTool } from '../../tools/waiting/ask-human.js';
import { sleepTool } from '../../tools/waiting/sleep.js';
import { waitForEventTool } from '../../tools/waiting/wait-for-event.js';
import type { AgentDeclaration } from '../agents/define.js';
import {
  agentOfProgram,
  assertNamedApart,
  assertPlanNames,
  type PlanDeclaration,
  PROPOSED_NAMES,
  specsOf,
} from './define-plan.js';
import { assertCovers, declaredCapabilities } from './plan-grants.js';

/** What plans may be made of that agents propose. */
export interface ProposalsDeclaration extends Omit<PlanDeclaration, 'plan'> {
  /** Agents that nodes of such plans may run. */
  readonly agents?: readonly AgentDeclaration[];
  /** How many different people must approve a plan. Default 1. */
  readonly approvals?: number;
  readonly approvalExpiresInMs?: number | null;
  /** Name of the tool. Default `propose_plan`. */
  readonly toolName?: string;
}

const NAMES = {
  ...{ ...PROPOSED_NAMES, agents: true, approvals: true, approvalExpiresInMs: true, toolName: true },
} as const satisfies { readonly [Name in keyof Required<ProposalsDeclaration>]: true };

/** A tool that proposes a plan, and the agent whose runs execute what was approved. */
export interface PlanProposals {
  readonly tool: DeclaredTool;
  /** Belongs among the `agents` of the configuration. */
  readonly runner: AgentDeclaration;
}

/** A plan that was proposed, with its input. */
interface Proposal {
  readonly plan: CompiledPlan;
  readonly input: JsonValue;
  readonly closure: Closure;
  readonly digest: string;
}

/** Plans that are kept read: each turn reads its plan again. */
const MOST_KEPT = 20;

/** A program in JavaScript may give anything. Throws `tool_invalid` and `plan_invalid`. */
function assertDeclared(name: string, tools: unknown, agents: unknown): void {
  if (!Array.isArray(tools) || !tools.every((tool) => isRecord(tool) && isDeclared(tool)))
    throw new HoldfastError('tool_invalid', `The proposals ${name} have a tool that defineTool did not make.`);
  if (!Array.isArray(agents) || !agents.every((one) => isRecord(one) && isRecord(one['agent'])))
    throw invalidPlan(name, [{ pointer: '/agents', detail: 'expected a list of agents, made by defineAgent' }]);
}

/** What a run of proposed plans reads of its input, and what an approval of it covers. */
export class ProposedPlans {
  readonly #name: string;
  readonly #declared: Required<Pick<ProposalsDeclaration, 'tools' | 'agents'>>;
  readonly #granted: GrantSet;
  readonly #tools: readonly DeclaredTool[];
  readonly #read = new Map<string, Proposal>();

  constructor({ name, tools = [], agents = [], grants = [], allowEverything = false }: ProposalsDeclaration) {
    this.#name = name;
    assertDeclared(name, tools, agents);
    this.#declared = { tools, agents };
    this.#granted = parseGrants(grants, { allowEverything });
    this.#tools = [
      ...tools,
      ...agents.map(({ agent }) => subAgent({ agent: agent.name, name: agentToolName(agent.name) })),
      ...Array.from({ length: MOST_APPROVALS }, (_, index) => approvalTool(index + 1)),
      ...[askHumanTool(), sleepTool(), waitForEventTool()],
    ];
    assertNamedApart(name, this.#tools);
  }

  /** Everything that a plan may call. */
  get tools(): readonly DeclaredTool[] {
    return this.#tools;
  }

  /** Reads a plan and its input. Throws `plan_invalid`, and `plan_not_granted` where it can need more than is granted. */
  read(proposed: JsonValue, given: JsonValue): Proposal {
    const digest = digestOf([proposed, given]);
    const kept = this.#read.get(digest);
    if (kept !== undefined) return kept;
    const name = 'that was proposed';
    // A digest knows no order of members: the first reader of a plan must see the same order as those after it.
    const document = JSON.parse(canonical(proposed)) as JsonValue;
    const plan = compilePlan(name, document, specsOf(this.#declared.tools));
    const closure = closureOf(name, plan, specsOf(this.#tools), (agent) => this.#grantsOf(agent));
    assertCovers(name, closure, this.#granted);
    const input = readPlanInput(plan, typeof given === 'string' ? given : canonical(given));
    if (!input.ok)
      throw invalidPlan(
        name,
        input.problems.map((one) => ({ ...one, pointer: `/input${one.pointer}` })),
      );
    const proposal = { plan, input: input.value, closure, digest };
    const [oldest] = this.#read.keys();
    if (this.#read.size >= MOST_KEPT && oldest !== undefined) this.#read.delete(oldest);
    this.#read.set(digest, proposal);
    return proposal;
  }

  /** The same from the input of a run. */
  readInput(input: JsonValue): Proposal {
    const text = textIn(input);
    const { plan, input: given } = this.#given(text);
    return this.read(plan, given);
  }

  /** Whether a call of a run with this input is one that was approved with its plan. */
  approves(input: JsonValue, call: CallOfPlan): boolean {
    const { plan, input: read } = this.readInput(input);
    return isApproved(plan, read, call);
  }

  /** Refuses a run that has no plan, or one that is not granted. Throws `invalid_request`, `plan_invalid`, `plan_not_granted`. */
  assertStart({ input, sessionId }: { readonly input: JsonValue; readonly sessionId: string | null }): void {
    if (sessionId !== null)
      throw invalidRequest([{ pointer: '/sessionId', detail: `${this.#name} runs plans, which have no conversation` }]);
    this.readInput(input);
  }

  #given(text: string | null): z.infer<typeof proposedInput> {
    try {
      return proposedInput.parse(parseJson(text ?? ''));
    } catch (cause) {
      const detail = 'expected JSON with a plan and its input: {"plan": {…}, "input": …}';
      throw invalidPlan(this.#name, [{ pointer: '/input', detail }], cause);
    }
  }

  #grantsOf(name: string): readonly string[] | undefined {
    const found = this.#declared.agents.find(({ agent }) => agent.name === name);
    if (found === undefined) return undefined;
    return declaredCapabilities(parseGrants(found.grants ?? [], { allowEverything: found.allowEverything ?? false }));
  }
}

const proposedInput = z.strictObject({ plan: z.json(), input: z.json().default('') });

/** The plans that runs of an agent execute; null: it is no such agent. */
export const proposedPlansOf = ({ model }: Agent): ProposedPlans | null =>
  model instanceof PlanModel && model.source instanceof ProposedPlans ? model.source : null;

/**
 * Lets agents propose plans: the tool is for them, and runs of the runner execute what people approved. Throws `tool_invalid`,
 * `plan_invalid` where two tools have one name, and `capability_invalid` for its grants.
 */
export function planProposals(declaration: ProposalsDeclaration): PlanProposals {
  assertPlanNames(declaration, NAMES);
  const { name, tools = [], agents: _agents, approvals = 1, approvalExpiresInMs, toolName, ...rest } = declaration;
  const plans = new ProposedPlans(declaration);
  const read = (given: unknown) => {
    const { plan, input = '' } = proposal.parse(given);
    return plans.read(parseJson(plan) as JsonValue, input);
  };
  const input = proposal.superRefine(({ plan, input: given = '' }, context) => {
    try {
      plans.read(parseJson(plan) as JsonValue, given);
    } catch (error) {
      const fields = error instanceof HoldfastError ? error.fields : [];
      const said = error instanceof Error ? error.message : String(error);
      for (const message of fields.length === 0 ? [said] : fields.map((one) => `${one.pointer || 'it'}: ${one.detail}`))
        context.addIssue({ code: 'custom', path: ['plan'], message });
    }
  });
  const tool = subAgent({
    ...{ agent: name, name: toolName ?? 'propose_plan', input, approvals },
    ...(approvalExpiresInMs === undefined ? {} : { approvalExpiresInMs }),
    description: descriptionOf(tools, declaration.agents ?? []),
    inputOf: ({ plan, input: given = '' }) => canonical({ plan: parseJson(plan) as JsonValue, input: given }),
    capabilities: [`tool:call:${toolName ?? 'propose_plan'}`],
    approval: (given) => {
      const { plan, closure, digest } = read(given);
      return textOfPlan(plan, closure, digest);
    },
    proposal: (given): { readonly digest: string; readonly grants: readonly GrantInput[] } => {
      const { closure, digest } = read(given);
      return { digest, grants: grantsOfClosure(closure) };
    },
  });
  const instructions = `Executes plans that were proposed (${name}).`;
  const model = new PlanModel(name, plans);
  return { tool, runner: agentOfProgram({ name, instructions, model, tools: plans.tools }, rest) };
}

const proposal = z.object({
  plan: z.string().max(262_144).describe('The plan, as JSON.'),
  input: z.string().max(262_144).optional().describe('What the plan reads as its input: a text, or JSON.'),
});

/** What a model must know to write a plan. */
function descriptionOf(tools: readonly DeclaredTool[], agents: readonly AgentDeclaration[]): string {
  const schema = JSON.stringify(Object.keys(planDocument.shape));
  const names = (list: readonly string[]): string => (list.length === 0 ? 'none' : list.join(', '));
  return [
    'Proposes a plan, a graph of calls as JSON. People approve it; then it is executed, and you get its output.',
    `Members: ${schema}; "nodes" is an object of nodes by their names ([a-z][a-z0-9_]*).`,
    'Nodes: {"type":"tool","tool":…,"arguments":{…}}, {"type":"agent","agent":…,"input":…}, {"type":"ask","question":…}, {"type":"wait","seconds":…}.',
    'Arguments read earlier outputs by {"$from":"/nodes/<name>/<member>"} and the input by {"$from":"/input"}; "after":[…] orders nodes.',
    'A tool node may state "bounds", a JSON Schema of its arguments: calls within it need no approval of their own.',
    `Tools: ${names(tools.map((tool) => tool.name))}. Agents: ${names(agents.map(({ agent }) => agent.name))}.`,
  ].join('\n');
}
