import { Agent, type Handoff, type ModelSettings } from '@openai/agents';
import type { RunScaffold } from '../../../workflows/segment-context.js';
import { HoldfastError } from '../../core/errors/errors.js';
import type { Offers, OwnTools } from '../../core/evolution/offers.js';
import type { AgentPatch } from '../../core/evolution/patch.js';
import {
  type AgentChange,
  assertApprovalsKept,
  judgePatch,
  OPEN_SETTINGS,
  patchedPlan,
} from '../../core/evolution/reach.js';
import { grantsToJson } from '../../core/grants/grants.js';
import { canonical, type JsonObject, jsonObject, sha256, toJson } from '../../core/json.js';
import { compilePlan } from '../../core/plans/compile-plan.js';
import type { ToolSpec } from '../../core/tools/tool.js';
import { PlanModel } from '../../models/plans/plan-model.js';
import { ProgramModel } from '../../models/program-model.js';
import { isDeclared, nameOf, toolSpecOf } from '../../tools/define/define-tool.js';
import { reachableAgents } from '../../tools/define/reachable-agents.js';
import type { RegisteredAgent } from '../agents/agent-registry.js';
import { agentScaffold } from '../agents/agent-scaffold.js';
import { toolDefinition } from '../agents/tool-definition.js';
import { assertNamedApart, specsOf, toolsOfNodes } from '../plans/define-plan.js';
import { assertCovers, ownSpecs, planWithGrants, type RegisteredPlan } from '../plans/plan-grants.js';

/**
 * The agent of the configuration as a patch makes it. Everything that the patch does not change is shared with it. Throws what
 * `judgePatch` throws.
 */
export function patchedAgent(base: RegisteredAgent, patch: AgentPatch, version: string): RegisteredAgent {
  const { plan: ofBase } = base;
  const before = jsonObject.parse(JSON.parse(base.definition));
  if (ofBase !== null) return patchedPlanAgent({ ...base, plan: ofBase }, before, patch, version);
  if (base.agent.model instanceof ProgramModel)
    throw new HoldfastError(
      'patch_out_of_reach',
      `${base.name} is a program, whose next calls code decides: no patch changes it.`,
    );
  const { definition: judged, change } = judgePatch(before, patch, ownTools(base), offersOf(base));
  const agent = changedAgent(base, change);
  const scaffold = changedScaffold(base, agent, change);
  const tools = [...agent.tools, ...(scaffold?.tools ?? [])];
  const ofTools =
    change.versions !== undefined || change.scaffold !== undefined ? { tools: tools.map(toolDefinition) } : {};
  const definition = canonical({ ...judged, ...ofTools, version });
  const definitionHash = sha256(definition);
  const specs = tools.flatMap((tool) => (tool.type === 'function' ? [toolSpecOf(tool)] : []));
  const toolSpecs = new Map(specs.map((spec) => [spec.name, spec]));
  const model = change.model ?? base.view.model;
  const view = { ...base.view, version, definitionHash, model, tools: specs.map(({ name }) => name) };
  return { ...base, version, agent, scaffold, toolSpecs, definition, definitionHash, view };
}

function ownTools({ agent, scaffold }: RegisteredAgent): OwnTools {
  const ofScaffold = scaffold?.tools ?? [];
  const declared = [...agent.tools, ...ofScaffold].flatMap((tool) =>
    tool.type === 'function' && isDeclared(tool) ? [toolSpecOf(tool)] : [],
  );
  return {
    declared: new Map(declared.map((spec) => [spec.name, spec])),
    ofScaffold: new Set(ofScaffold.map(({ name }) => name)),
  };
}

const offersOf = ({ forkModels, offers: { tools, scaffolds } }: RegisteredAgent): Offers => ({
  models: forkModels,
  tools: tools.map((tool) => toolSpecOf(tool)),
  scaffolds: scaffolds.map(({ name, version }) => ({ name, version })),
});

function changedAgent({ agent, offers }: RegisteredAgent, change: AgentChange): Agent {
  const { instructions, model, modelSettings, tools, versions, handoffs } = change;
  const kept = Object.entries(agent.modelSettings).filter(([name]) => !OPEN_SETTINGS.has(name));
  // What may change was parsed, and has the types that the SDK has.
  const settings =
    modelSettings === undefined
      ? agent.modelSettings
      : ({ ...Object.fromEntries(kept), ...modelSettings } as ModelSettings);
  const newest = (tool: Agent['tools'][number]): Agent['tools'][number] => {
    const wanted = versions?.get(keyOf(tool));
    if (wanted === undefined) return tool;
    const isWanted = ({ name, version }: ToolSpec): boolean => name === wanted.name && version === wanted.version;
    return offers.tools.find((one) => isWanted(toolSpecOf(one))) ?? tool;
  };
  const changed = agent.clone({
    ...(instructions === undefined ? {} : { instructions }),
    ...(model === undefined ? {} : { model }),
    modelSettings: settings,
    tools: agent.tools.filter((tool) => tools?.includes(keyOf(tool)) ?? true).map(newest),
    handoffs: agent.handoffs.filter((one) => handoffs?.includes('agentName' in one ? one.agentName : one.name) ?? true),
  });
  leadBackTo(changed, agent);
  return changed;
}

/**
 * Makes a copy of each agent that a patched agent can hand over to and that hands back to the one before the patch, so that it hands back
 * to the patched one. Other agents stay shared.
 */
function leadBackTo(patched: Agent, before: Agent): void {
  const around = reachableAgents(patched).filter((one) => one !== before && reachableAgents(one).includes(before));
  const copies = new Map<Agent, Agent>(around.map((one) => [one, one === patched ? patched : one.clone({})]));
  copies.set(before, patched);
  const copyOf = (one: Agent | Handoff): Agent | Handoff => {
    if (one instanceof Agent) return copies.get(one) ?? one;
    const to = copies.get(one.agent);
    if (to === undefined) return one;
    const onInvokeHandoff: Handoff['onInvokeHandoff'] = async (context, args) => {
      const given = await one.onInvokeHandoff(context, args);
      return given === one.agent ? to : given;
    };
    return one.clone({ agent: to, onInvokeHandoff });
  };
  for (const copy of copies.values()) copy.handoffs = copy.handoffs.map(copyOf);
}

const keyOf = (tool: Agent['tools'][number]): string => (tool.type === 'function' ? nameOf(tool) : tool.name);

/** Throws `patch_out_of_reach` for a scaffold that does not fit the agent. */
function changedScaffold(base: RegisteredAgent, agent: Agent, { scaffold, tools }: AgentChange): RunScaffold | null {
  if (base.scaffold === null) return null;
  if (scaffold === undefined)
    return { ...base.scaffold, agent, tools: base.scaffold.tools.filter(({ name }) => tools?.includes(name) ?? true) };
  const offered = base.offers.scaffolds.find(
    ({ name, version }) => name === scaffold.name && version === scaffold.version,
  );
  try {
    return agentScaffold({ agent, ...(offered && { scaffold: offered }) }, base.grants, base.environment);
  } catch (error) {
    if (!(error instanceof HoldfastError) || error.code !== 'agent_invalid') throw error;
    const { message, hint } = error;
    throw new HoldfastError('patch_out_of_reach', `The patch is refused at /scaffold: ${message}`, {
      ...{ cause: error, hint, fields: [{ pointer: '/patch', detail: message }] },
    });
  }
}

/**
 * The plan of the configuration as a patch makes it: read and judged like any other, with the tools that it has, and with grants that are
 * those of the plan before or fewer. Throws what `patchedPlan` and `assertApprovalsKept` throw, `plan_invalid`, `patch_widens_grants`.
 */
function patchedPlanAgent(
  base: RegisteredAgent & { readonly plan: RegisteredPlan },
  definition: JsonObject,
  patch: AgentPatch,
  version: string,
): RegisteredAgent {
  const { name, plan: before } = base;
  const judged = patchedPlan(definition, patch);
  const own = ownSpecs(base.toolSpecs, before.compiled);
  const compiled = compilePlan(name, judged.document, own);
  const brought = toolsOfNodes(compiled);
  assertNamedApart(name, [...own.values(), ...brought]);
  assertApprovalsKept(before.compiled, compiled);
  const stray = brought.find((tool) => !base.toolSpecs.has(tool.name));
  if (stray !== undefined) throw widens(name, `it would call ${stray.name}, which the plan does not`);
  const specs = new Map([...own, ...specsOf(brought)]);
  const { plan, grants } = covered(base, () => {
    const made = planWithGrants(name, compiled, specs, before.granted, before.grantsOf);
    assertCovers(name, made.plan.closure, base.grants);
    return made;
  });
  const document: JsonObject = { ...judged.definition, plan: toJson(compiled.document), version };
  const text = canonical({ ...document, grants: grantsToJson(grants) });
  const definitionHash = sha256(text);
  const agent = base.agent.clone({ model: new PlanModel(name, compiled) });
  const view = { ...base.view, version, definitionHash };
  return { ...base, version, agent, plan, grants, definition: text, definitionHash, view };
}

/** What the plan after the patch needs and the one before it does not is a wider grant, whatever the configuration would allow. */
function covered<T>({ name }: Pick<RegisteredAgent, 'name'>, judge: () => T): T {
  try {
    return judge();
  } catch (error) {
    if (!(error instanceof HoldfastError) || error.code !== 'plan_not_granted') throw error;
    const said = error.fields.map(({ pointer, detail }) => `${pointer} ${detail}`).join('; ');
    throw widens(name, said, error);
  }
}

const widens = (name: string, why: string, cause?: unknown): HoldfastError =>
  new HoldfastError('patch_widens_grants', `The patch of the plan ${name} is refused: ${why}.`, {
    ...{ cause, fields: [{ pointer: '/patch', detail: why }] },
  });
