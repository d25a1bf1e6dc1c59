import { HoldfastError } from '../../core/errors/errors.js';
import { jsonObject, toJson } from '../../core/json.js';
import { closureOf } from '../../core/plans/closure.js';
import { assertNoPlanCycle, compilePlan } from '../../core/plans/compile-plan.js';
import { type PlanCheck, type PlanCheckRequest, type PlanView, readingOf } from '../../core/plans/plan-view.js';
import type { EngineContext } from '../engine-context.js';
import { assertNamedApart, specsOf, toolsOfNodes } from './define-plan.js';
import { assertCovers, declaredCapabilities, ownSpecs } from './plan-grants.js';

/** A plan of the configuration. Throws `agent_unknown`. */
export async function getPlan(context: EngineContext, name: string): Promise<PlanView> {
  const { agent, plan } = planNamed(context, name);
  const { version, definitionHash } = agent;
  return {
    name,
    version,
    definitionHash,
    plan: jsonObject.parse(toJson(plan.compiled.document)),
    ...readingOf(plan.compiled, plan.closure),
  };
}

/**
 * Checks a plan as it would be in the place of one of the configuration: with the same tools, agents and grants. Throws
 * `agent_unknown`.
 */
export async function checkPlan(
  context: EngineContext,
  name: string,
  { plan: given }: PlanCheckRequest,
): Promise<PlanCheck> {
  const { agent, plan } = planNamed(context, name);
  let read: PlanCheck['read'] = null;
  try {
    const own = ownSpecs(agent.toolSpecs, plan.compiled);
    const compiled = compilePlan(name, given, own);
    const specs = new Map([...own, ...specsOf(toolsOfNodes(compiled))]);
    assertNamedApart(name, [...own.values(), ...toolsOfNodes(compiled)]);
    const grantsOf = (of: string) => {
      const grants = context.agents.get(of)?.grants;
      return grants && declaredCapabilities(grants);
    };
    const closure = closureOf(name, compiled, specs, grantsOf);
    assertNoPlanCycle(name, compiled, (of) => context.agents.get(of)?.plan?.compiled);
    read = readingOf(compiled, closure);
    assertCovers(name, closure, plan.granted);
    return { ok: true, code: null, problems: [], read };
  } catch (error) {
    if (!(error instanceof HoldfastError) || (error.code !== 'plan_invalid' && error.code !== 'plan_not_granted'))
      throw error;
    return { ok: false, code: error.code, problems: error.fields.map((field) => ({ ...field })), read };
  }
}

function planNamed({ agents }: Pick<EngineContext, 'agents'>, name: string) {
  const agent = agents.get(name);
  if (agent?.plan) return { agent, plan: agent.plan };
  const known = [...agents.values()].filter(({ plan }) => plan !== null).map((one) => one.name);
  const list = known.length === 0 ? 'none' : known.join(', ');
  throw new HoldfastError('agent_unknown', `There is no plan ${JSON.stringify(name)}. Known plans: ${list}.`);
}
