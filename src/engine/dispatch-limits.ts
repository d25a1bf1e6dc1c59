import { type DispatchLimits, type TenantLimits, tenantLimits } from '../core/dispatch.js';
import { HoldfastError } from '../core/errors.js';
import { fieldErrorsOf } from '../core/field-errors.js';
import type { LimitRow } from '../storage/dispatch-limits.js';
import type { RegisteredAgent } from './agent-registry.js';

/** The limits that a configuration sets. Throws `config_invalid`, naming the field of a tenant. */
export function limitsIn(
  agents: Iterable<Pick<RegisteredAgent, 'name' | 'dispatch'>>,
  tenants: TenantLimits = {},
): readonly LimitRow[] {
  const parsed = tenantLimits.safeParse(tenants);
  if (!parsed.success) {
    const fields = fieldErrorsOf(parsed.error, '/tenants');
    const said = fields.map(({ pointer, detail }) => `${pointer.slice(1)}: ${detail}`).join('; ');
    throw new HoldfastError('config_invalid', `The engine cannot work like this: ${said}.`, { fields });
  }
  const { each = {}, named = {} } = parsed.data;
  return [
    ...[...agents].flatMap(({ name, dispatch }) => rowOf('agent', name, dispatch)),
    ...rowOf('tenants', '', each),
    ...Object.entries(named).map(([name, limits]) => asRow('tenant', name, limits)),
  ];
}

const rowOf = (kind: LimitRow['kind'], name: string, limits: DispatchLimits): readonly LimitRow[] =>
  limits.concurrency === undefined && limits.rate === undefined ? [] : [asRow(kind, name, limits)];

/** A tenant that is named has just what is said of it, also if that is nothing. */
const asRow = (kind: LimitRow['kind'], name: string, { concurrency, rate }: DispatchLimits): LimitRow => ({
  ...{ kind, name, concurrency: concurrency ?? null },
  ...{ rate_runs: rate?.runs ?? null, rate_per_ms: rate?.perMs ?? null },
});
