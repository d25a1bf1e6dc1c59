import type { Agent, ModelSettings } from '@openai/agents';
import { HoldfastError } from '../../core/errors/errors.js';
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
import { PlanModel } from '../../models/plans/plan-model.js';
import { ProgramModel } from '../../models/program-model.js';
import { nameOf } from '../../tools/define/define-tool.js';
import type { RegisteredAgent } from '../agents/agent-registry.js';
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
  const judged = judgePatch(before, patch, base.forkModels);
  const definition = canonical({ ...judged.definition, version });
  const definitionHash = sha256(definition);
  const agent = changedAgent(base.agent, judged.change);
  const kept = judged.change.tools === undefined ? null : new Set(judged.change.tools);
  const scaffold =
    base.scaffold === null
      ? null
      : { ...base.scaffold, agent, tools: base.scaffold.tools.filter(({ name }) => kept?.has(name) ?? true) };
  const toolSpecs = new Map([...base.toolSpecs].filter(([name]) => kept?.has(name) ?? true));
  const model = judged.change.model ?? base.view.model;
  const view = { ...base.view, version, definitionHash, model, tools: [...toolSpecs.keys()] };
  return { ...base, version, agent, scaffold, toolSpecs, definition, definitionHash, view };
}

function changedAgent(agent: Agent, change: AgentChange): Agent {
  const { instructions, model, modelSettings, tools, handoffs } = change;
  const kept = Object.entries(agent.modelSettings).filter(([name]) => !OPEN_SETTINGS.has(name));
  // What may change was parsed, and has the types that the SDK has.
  const settings =
    modelSettings === undefined
      ? agent.modelSettings
      : ({ ...Object.fromEntries(kept), ...modelSettings } as ModelSettings);
  return agent.clone({
    ...(instructions === undefined ? {} : { instructions }),
    ...(model === undefined ? {} : { model }),
    modelSettings: settings,
    tools: agent.tools.filter((tool) => tools?.includes(tool.type === 'function' ? nameOf(tool) : tool.name) ?? true),
    handoffs: agent.handoffs.filter((one) => handoffs?.includes('agentName' in one ? one.agentName : one.name) ?? true),
  });
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
