import { HoldfastError } from '../../core/errors/errors.js';
import type { AgentPatch } from '../../core/evolution/patch.js';
import { assertApprovalsKept, patchedPlan } from '../../core/evolution/plan-reach.js';
import { grantsToJson } from '../../core/grants/grants.js';
import { canonical, type JsonObject, sha256, toJson } from '../../core/json.js';
import { compilePlan } from '../../core/plans/compile-plan.js';
import { PlanModel } from '../../models/plans/plan-model.js';
import type { RegisteredAgent } from '../agents/agent-registry.js';
import { assertNamedApart, specsOf, toolsOfNodes } from '../plans/define-plan.js';
import { assertCovers, ownSpecs, planWithGrants, type RegisteredPlan } from '../plans/plan-grants.js';

/**
 * The plan of the configuration as a patch makes it: read and judged like any other, with the tools that it has, and with grants that are
 * those of the plan before or fewer. Throws what `patchedPlan` and `assertApprovalsKept` throw, `plan_invalid`, `patch_widens_grants`.
 */
export function patchedPlanAgent(
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
