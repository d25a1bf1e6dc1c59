import { z } from 'zod';
import { webhookList } from '../agents/webhook.js';
import { nameText } from '../json.js';
import { alertList, alertView, silenceAlert } from '../quality/alert.js';
import { operation } from './operation.js';

export const ALERT_OPERATIONS = {
  listAlerts: operation({
    method: 'GET',
    path: '/api/v1/alerts',
    summary: 'List the alert rules of the configuration, with their states.',
    access: { tenant: 'viewer' },
    response: alertList,
    errors: [],
    args: (_input, { caller }) => [caller],
  }),
  silenceAlert: operation({
    method: 'POST',
    path: '/api/v1/alerts/{name}/silence',
    summary: 'Have no event tell of an alert for a while.',
    access: { tenant: 'operator' },
    pathParams: z.strictObject({ name: nameText }),
    body: silenceAlert,
    response: alertView,
    errors: ['alert_unknown'],
    audited: true,
    args: ({ path: { name }, body }, { caller }) => [name, body, caller],
  }),
};

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
