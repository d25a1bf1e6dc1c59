import { type Caller, mayOperate } from '../../core/caller.js';
import type { WebhookList, WebhookView } from '../../core/ops/webhook-view.js';
import { toldWebhooks } from '../../storage/ops/webhooks.js';
import type { EngineContext } from '../engine-context.js';

/** What clients ask of webhooks. */
export const WEBHOOK_OPERATIONS = {
  /** The webhooks of the configuration in its order: of the caller's tenant, or with a role in the installation of all tenants. */
  listWebhooks: async ({ webhooks, stepContext: { knex } }: EngineContext, caller: Caller): Promise<WebhookList> => {
    const shown = webhooks.filter(({ tenant }) => tenant === caller.tenant || mayOperate(caller, 'viewer'));
    const told = await toldWebhooks(
      knex,
      shown.map(({ name }) => name),
    );
    return {
      items: shown.map(({ name, tenant, kinds }): WebhookView => {
        const { problem, failingSince, behind, ...of } = told.get(name) ?? NEW;
        const state = !told.has(name) ? 'waiting' : problem !== null ? 'failing' : behind > 0 ? 'behind' : 'told';
        return { name, tenant, kinds: [...kinds], state, ...of, behind, failingSince, problem };
      }),
    };
  },
};

const NEW = {
  ...{ delivered: 0, deliveredAt: null, givenUp: 0, behind: 0, tries: 0, failingSince: null, problem: null },
  nextTryAt: null,
};
