import type { Agent } from '@openai/agents';
import { HoldfastError } from '../../core/errors/errors.js';
import { invalidRequest } from '../../core/field-errors.js';
import type { GrantInput, GrantSet } from '../../core/grants/grants.js';
import { narrowGrants } from '../../core/grants/grants-narrowing.js';
import type { JsonValue } from '../../core/json.js';
import { type Closure, closureOf, type GrantsOfAgent, grantsOfClosure } from '../../core/plans/closure.js';
import type { CompiledPlan } from '../../core/plans/plan.js';
import { readPlanInput } from '../../core/plans/plan-input.js';
import type { ToolSpec } from '../../core/tools/tool.js';
import { isReader, PlanModel } from '../../models/plans/plan-model.js';

/** A plan, and everything that its runs can ever need. */
export interface RegisteredPlan {
  readonly compiled: CompiledPlan;
  readonly closure: Closure;
  /** What its declaration grants. */
  readonly granted: GrantSet;
  /** What agents of the configuration are granted. */
  readonly grantsOf: GrantsOfAgent;
  /** Refuses a run that the plan could not finish. Throws `invalid_request` and `plan_not_granted`. */
  readonly assertStart: (start: PlanStart) => void;
}

/** The plan that an agent follows; null: it has a model. */
export const planOf = ({ model }: Agent): CompiledPlan | null =>
  model instanceof PlanModel && !isReader(model.source) ? model.source : null;

/** The capabilities that a declaration grants, also where its agent is a plan, whose grants were narrowed since. */
export const declaredCapabilities = ({ grants }: GrantSet): readonly string[] =>
  grants.flatMap(({ layer, effect, capability }) => (layer === 0 && effect !== 'deny' ? [capability] : []));

/** What a plan may need, and its grants narrowed to that. Throws `plan_invalid`, and `plan_not_granted` where they do not cover it. */
export function planWithGrants(
  name: string,
  compiled: CompiledPlan,
  specs: ReadonlyMap<string, ToolSpec>,
  grants: GrantSet,
  grantsOf: GrantsOfAgent,
): { readonly plan: RegisteredPlan; readonly grants: GrantSet } {
  const closure = closureOf(name, compiled, specs, grantsOf);
  assertCovers(name, closure, grants);
  const assertStart = (start: PlanStart): void => assertPlanStart({ name, compiled, closure }, start);
  return {
    plan: { compiled, closure, granted: grants, grantsOf, assertStart },
    grants: narrowGrants(grants, grantsOfClosure(closure)),
  };
}

/** The tools that a plan was given, without those that its nodes bring. */
export function ownSpecs(specs: ReadonlyMap<string, ToolSpec>, { calls }: CompiledPlan): ReadonlyMap<string, ToolSpec> {
  const brought = new Set(calls.filter(({ node }) => node.type !== 'tool').map(({ tool }) => tool));
  return new Map([...specs].filter(([tool]) => !brought.has(tool)));
}

/** Throws `plan_not_granted`, which names every capability that is not covered, and a node that needs it. */
export function assertCovers(name: string, closure: Closure, grants: GrantSet): void {
  const missing = grantsOfClosure(closure).flatMap((grant) => {
    const problem = problemOf(grants, grant);
    if (problem === null) return [];
    const capability = typeof grant === 'string' ? grant : grant.capability;
    const [call] = closure.own.get(capability) ?? closure.passedOn.get(capability) ?? [];
    const how = closure.own.has(capability) ? '' : ' (to pass on: `delegate`)';
    return [{ pointer: call?.at ?? '', detail: `needs ${capability}${how}: ${problem}` }];
  });
  if (missing.length === 0) return;
  const said = missing.slice(0, 10).map(({ pointer, detail }) => `${pointer} ${detail}`);
  const more = missing.length > said.length ? `; and ${missing.length - said.length} more` : '';
  throw new HoldfastError(
    'plan_not_granted',
    `The plan ${name} is not granted what it may need. ${said.join('; ')}${more}.`,
    {
      fields: missing,
    },
  );
}

function problemOf(grants: GrantSet, grant: GrantInput): string | null {
  try {
    narrowGrants(grants, [grant]);
    return null;
  } catch (error) {
    if (!(error instanceof HoldfastError)) throw error;
    return (error.fields[0]?.detail ?? error.message).replaceAll('the agent', 'the plan').replace(/\.$/, '');
  }
}

interface PlanStart {
  readonly input: JsonValue;
  readonly grants: GrantSet;
  readonly sessionId: string | null;
}

function assertPlanStart(
  { name, compiled, closure }: { readonly name: string } & Pick<RegisteredPlan, 'compiled' | 'closure'>,
  { input, grants, sessionId }: PlanStart,
): void {
  const read = readPlanInput(compiled, input);
  const wrong = read.ok ? [] : read.problems.map((one) => ({ ...one, pointer: `/input${one.pointer}` }));
  if (sessionId !== null) wrong.push({ pointer: '/sessionId', detail: `${name} is a plan, which has no conversation` });
  if (wrong.length > 0) throw invalidRequest(wrong);
  assertCovers(name, closure, grants);
}
