import { webhookList } from '../ops/webhook-view.js';
import { operation } from './operation.js';

export const WEBHOOK_OPERATIONS = {
  listWebhooks: operation({
    method: 'GET',
    path: '/api/v1/webhooks',
    summary: 'List the webhooks of the configuration, with what they were told and why one fails.',
    access: { tenant: 'viewer' },
    response: webhookList,
    errors: [],
    args: (_input, { caller }) => [caller],
  }),
};
