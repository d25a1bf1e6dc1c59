import type { ModelProvider } from '@openai/agents';
import { highestCostOf } from '../../core/budgets/price.js';
import type { FieldError } from '../../core/errors/errors.js';
import { invalidConfig } from '../../core/field-errors.js';
import type { EngineLog } from '../../core/ops/log-record.js';
import type { CostOf } from '../../core/routing/route-order.js';
import type { RouterPlan } from '../../core/routing/router-plan.js';
import { pointerOf, ROUTER_PREFIX, readRouters, routerNamed } from '../../core/routing/router-problems.js';
import type { PriceBook } from '../../models/budgets/price-book.js';
import { failureText } from '../../models/failures/failure-text.js';
import { wait } from '../../models/providers/abort.js';
import { RouterProvider } from '../../models/routing/router-model.js';
import { reachableAgents } from '../../tools/define/reachable-agents.js';
import type { RegisteredAgent } from './agent-registry.js';
import type { HoldfastConfig } from './define.js';

/**
 * The routers of a configuration. Throws `config_invalid` with the place of everything that is wrong with them, and with agents
 * that name one that is not there.
 */
export function routersIn(config: HoldfastConfig, agents: ReadonlyMap<string, RegisteredAgent>): readonly RouterPlan[] {
  const own = config.providers !== undefined && Object.hasOwn(config.providers, 'router');
  const { plans, names, problems } = readRouters(config.routers);
  const clash = { pointer: '/providers/router', detail: 'the prefix is that of `routers`; give the provider another' };
  assertNone([...problems, ...(own && names.length > 0 ? [clash] : []), ...(own ? [] : strayAgents(names, agents))]);
  return plans;
}

function strayAgents(known: readonly string[], agents: ReadonlyMap<string, RegisteredAgent>): FieldError[] {
  return [...agents.values()].flatMap(({ agent }, at) =>
    reachableAgents(agent).flatMap(({ name, model }) => {
      const named = typeof model === 'string' ? routerNamed(model) : null;
      if (named === null || known.includes(named)) return [];
      const detail = `the agent ${name} asks router/${named}, and the routers are ${known.join(', ') || 'none'}`;
      return [{ pointer: `/agents/${at}`, detail }];
    }),
  );
}

/** Looks whether there is a provider with a key for each candidate; contacts no one. Throws `config_invalid`. */
export async function assertServed(plans: readonly RouterPlan[], models: ModelProvider): Promise<void> {
  const places = plans.flatMap(({ name, candidates }) => candidates.map((candidate) => ({ name, candidate })));
  const found = await Promise.all(
    places.map(async ({ name, candidate }) => {
      if (routerNamed(candidate.model) !== null) return [];
      try {
        await models.getModel(candidate.model);
        return [];
      } catch (error) {
        const detail = failureText(error instanceof Error ? error.message : String(error)).replace(/\.$/, '');
        return [{ pointer: pointerOf(name, candidate), detail }];
      }
    }),
  );
  assertNone(found.flat());
}

function assertNone(fields: readonly FieldError[]): void {
  if (fields.length > 0) throw invalidConfig('The routers', fields);
}

/** The models of a configuration, with its routers as `router/<name>`. */
export function withRouters(
  plans: readonly RouterPlan[],
  { models, prices, log }: { readonly models: ModelProvider; readonly prices: PriceBook; readonly log: EngineLog },
): ModelProvider {
  if (plans.length === 0) return models;
  const all: ModelProvider = {
    getModel: (name) =>
      name?.startsWith(ROUTER_PREFIX) === true
        ? routers.getModel(name.slice(ROUTER_PREFIX.length))
        : models.getModel(name),
  };
  const routers = new RouterProvider(plans, {
    ...{ models: all, costOf: estimatesOf(prices), now: () => performance.now(), random: Math.random, wait },
    onFailed: (note) =>
      log.warn({ component: 'router', event: 'candidate_failed', ...note }, 'a candidate of a router did not answer'),
  });
  return all;
}

/** What a request costs by the prices that charges go by too, none of it cached. */
const estimatesOf =
  (prices: PriceBook): CostOf =>
  ({ model }, inputTokens, outputTokens) => {
    const known = prices.priceOf(model, Date.now());
    if (known === null) return null;
    return Number(highestCostOf(known.price, Math.ceil(inputTokens), outputTokens));
  };
