import { invalidPlan } from './compile-plan.js';
import type { CompiledPlan } from './plan.js';

/** The plan of an agent; undefined: it is none. */
export type PlanOfAgent = (agent: string) => CompiledPlan | undefined;

/** Throws `plan_invalid` where a plan runs itself, perhaps by others: none of them would end. Looks at each plan once. */
export function assertNoPlanCycle(name: string, plan: CompiledPlan, planOf: PlanOfAgent): void {
  const seen = new Set<string>();
  /** The way from here back to the plan; null: there is none. */
  const wayBack = (from: string, compiled: CompiledPlan): readonly string[] | null => {
    for (const { node } of compiled.calls) {
      if (node.type !== 'agent') continue;
      if (node.agent === name) return [from, name];
      const next = seen.has(node.agent) ? undefined : planOf(node.agent);
      seen.add(node.agent);
      const way = next === undefined ? null : wayBack(node.agent, next);
      if (way !== null) return [from, ...way];
    }
    return null;
  };
  const way = wayBack(name, plan);
  if (way === null) return;
  const [, through] = way;
  const call = plan.calls.find(({ node }) => node.type === 'agent' && node.agent === through);
  const detail = `plans run one another without an end: ${way.join(' runs ')}. A \`loop\` repeats`;
  throw invalidPlan(name, [{ pointer: `${call?.at ?? ''}/agent`, detail }]);
}
