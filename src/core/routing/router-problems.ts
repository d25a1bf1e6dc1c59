import type { FieldError } from '../errors/errors.js';
import { fieldErrorsOf } from '../field-errors.js';
import { isObject } from '../json.js';
import { type RouterConfig, routersShape } from './router-config.js';
import { planOf, type RouterPlan } from './router-plan.js';

export const ROUTER_PREFIX = 'router/';

/** The router that a model name names; null: it names none. */
export const routerNamed = (model: string): string | null =>
  model.startsWith(ROUTER_PREFIX) ? model.slice(ROUTER_PREFIX.length) : null;

/** Shares make 1 but for rounding. */
export const NEAR = 1e-9;

/** The routers of a configuration, or everything that is wrong with it, by RFC 6901 pointers below `/routers`. */
export function readRouters(given: unknown): {
  readonly plans: readonly RouterPlan[];
  /** Of all that are given, also of wrong ones. */
  readonly names: readonly string[];
  readonly problems: readonly FieldError[];
} {
  const { error } = routersShape.safeParse(given ?? {});
  const misshapen = error === undefined ? [] : fieldErrorsOf(error, '/routers');
  const entries = isObject(given) ? Object.entries(given) : [];
  const names = entries.map(([name]) => name);
  // A wrong router hides nothing of what is wrong with the others.
  const configs = entries.flatMap(([name, config]) =>
    Object.entries(routersShape.safeParse({ [name]: config }).data ?? {}),
  );
  const plans = configs.map(([name, config]) => planOf(name, config));
  const problems = [
    ...misshapen,
    ...configs.flatMap(([name, config]) => sumProblems(name, config)),
    ...referenceProblems(plans, names),
  ];
  return { plans: problems.length === 0 ? plans : [], names, problems };
}

export function sumProblems(name: string, config: RouterConfig): FieldError[] {
  if (config.strategy === 'load_balanced') {
    const weight = (one: (typeof config.candidates)[number]): number =>
      typeof one === 'string' ? 1 : (one.weight ?? 1);
    if (config.candidates.some((one) => weight(one) > 0)) return [];
    return [{ pointer: `/routers/${name}/candidates`, detail: 'the weights make 0, so that no one would be asked' }];
  }
  if (config.strategy !== 'experiment') return [];
  const { arms } = config;
  const sum = arms.reduce((total, { share }) => total + share, 0);
  const twice = arms.flatMap((arm, at) => (arms.findIndex((other) => other.name === arm.name) < at ? [at] : []));
  return [
    ...(Math.abs(sum - 1) <= NEAR
      ? []
      : [{ pointer: `/routers/${name}/arms`, detail: `the shares make ${Number(sum.toFixed(9))}, expected 1` }]),
    ...twice.map((at) => ({ pointer: `/routers/${name}/arms/${at}/name`, detail: 'another arm has the same name' })),
  ];
}

/** Where a candidate of a router stands in the configuration. */
export const pointerOf = (router: string, { path }: { readonly path: string }): string =>
  `/routers/${router}/${path.replaceAll('.', '/')}`;

/** `given`: the names of routers, also of those that are wrong in another way. */
export function referenceProblems(plans: readonly RouterPlan[], given: readonly string[]): FieldError[] {
  const byName = new Map(plans.map((plan) => [plan.name, plan]));
  const problems: FieldError[] = [];
  const done = new Set<string>();
  const walk = (plan: RouterPlan, trail: readonly string[]): void => {
    for (const candidate of plan.candidates) {
      const named = routerNamed(candidate.model);
      if (named === null) continue;
      const pointer = pointerOf(plan.name, candidate);
      const next = byName.get(named);
      if (!given.includes(named)) problems.push({ pointer, detail: `there is no router ${JSON.stringify(named)}` });
      else if (next === undefined) continue;
      else if (trail.includes(named)) {
        const circle = [...trail.slice(trail.indexOf(named)), named].join(' → ');
        problems.push({ pointer, detail: `it leads back to itself: ${circle}` });
      } else if (!done.has(named)) walk(next, [...trail, named]);
    }
    done.add(plan.name);
  };
  for (const plan of plans) if (!done.has(plan.name)) walk(plan, [plan.name]);
  return problems;
}
