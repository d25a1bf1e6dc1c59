import type { Model, ModelProvider } from '@openai/agents';
import { HoldfastError } from '../../core/errors/errors.js';
import type { RouterPlan } from '../../core/routing/router-plan.js';
import { type RouterContext, RouterModel } from './router-model.js';

/** The routers of a configuration, as the provider of `router/<name>`. Each is made once, with what it knows of its candidates. */
export class RouterProvider implements ModelProvider {
  readonly #routers: ReadonlyMap<string, RouterModel>;

  constructor(plans: readonly RouterPlan[], context: RouterContext) {
    this.#routers = new Map(plans.map((plan) => [plan.name, new RouterModel(plan, context)]));
  }

  /** Throws `model_unknown` for a name that no router has. */
  async getModel(modelName = ''): Promise<Model> {
    const router = this.#routers.get(modelName);
    if (router !== undefined) return router;
    const known = [...this.#routers.keys()].join(', ') || 'none';
    throw new HoldfastError('model_unknown', `There is no router ${JSON.stringify(modelName)}. Known: ${known}.`, {
      hint: 'Use one of the routers of holdfast.config.ts, or add it to `routers`.',
    });
  }
}
