import { expect, it } from 'vitest';
import { budgets } from '../../../src/core/budgets/budget.js';
import { tenantLimits } from '../../../src/core/queue/dispatch.js';
import { retentionConfig } from '../../../src/core/retention/retention.js';

/** Names of tenants and agents in a configuration go into statements: what the database does not keep stops the start. */

const rule = { olderThanDays: 1, do: 'erase' };
const PLACES: Readonly<Record<string, (name: string) => { readonly success: boolean }>> = {
  'the tenant of a rule of retention': (tenant) => retentionConfig.safeParse({ runs: [{ ...rule, tenant }] }),
  'the agent of a rule of retention': (agent) => retentionConfig.safeParse({ runs: [{ ...rule, agent }] }),
  'a tenant with limits': (name) => tenantLimits.safeParse({ named: { [name]: { concurrency: 1 } } }),
  'an agent with a budget': (name) => budgets.safeParse({ perAgent: { [name]: { perDay: '1' } } }),
  'a tenant with a budget': (name) => budgets.safeParse({ perTenant: { named: { [name]: { total: '1' } } } }),
};

it.each(Object.entries(PLACES))('%s', (_place, parsed) => {
  expect(parsed('acme').success).toBe(true);
  for (const wrong of ['', 'a\u0000', 'a\u001fb', 'a\nb', 'a\ud800', 'a'.repeat(201)])
    expect(parsed(wrong).success).toBe(false);
});
