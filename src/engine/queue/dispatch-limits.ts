import type { z } from 'zod';
import { requirementsText } from '../../core/containers/worker-offer.js';
import { HoldfastError } from '../../core/errors/errors.js';
import { fieldErrorsOf, invalidConfig } from '../../core/field-errors.js';
import {
  type DispatchLimits,
  type NamedLimits,
  namedLimits,
  type TenantLimits,
  tenantLimits,
} from '../../core/queue/dispatch.js';
import type { LimitedNames } from '../../storage/dbos/limited-names.js';
import type { LimitRow } from '../../storage/queue/dispatch-limits.js';
import type { RegisteredAgent } from '../agents/agent-registry.js';

export interface LimitsConfig {
  readonly tenants?: TenantLimits;
  readonly images?: NamedLimits;
  readonly models?: NamedLimits;
}

/** The limits that a configuration sets. Throws `config_invalid`, naming the field. */
export function limitsIn(
  agents: Iterable<Pick<RegisteredAgent, 'name' | 'dispatch'>>,
  { tenants = {}, images = {}, models = {} }: LimitsConfig,
): readonly LimitRow[] {
  const { each = {}, named = {} } = parsedIn(tenantLimits, tenants, '/tenants');
  const namedIn = (kind: 'image' | 'model', limits: NamedLimits) =>
    Object.entries(parsedIn(namedLimits, limits, `/${kind}s`)).map(([name, limit]) => asRow(kind, name, limit));
  return [
    ...namedIn('image', images),
    ...namedIn('model', models),
    ...[...agents].flatMap(({ name, dispatch }) => rowOf('agent', name, dispatch)),
    ...rowOf('tenants', '', each),
    ...Object.entries(named).map(([name, limits]) => asRow('tenant', name, limits)),
  ];
}

function parsedIn<T>(shape: z.ZodType<T>, value: unknown, place: string): T {
  const parsed = shape.safeParse(value);
  if (parsed.success) return parsed.data;
  throw invalidConfig('The engine', fieldErrorsOf(parsed.error, place));
}

/** Which images and models these limits name, and what the agents have of both. */
export function limitedIn(
  limits: readonly LimitRow[],
  agents: Iterable<Pick<RegisteredAgent, 'name' | 'environment' | 'view'>>,
): LimitedNames {
  const names = (kind: 'image' | 'model') => limits.flatMap((row) => (row.kind === kind ? [row.name] : []));
  const own = [...agents].map(({ name, environment, view }) => [
    name,
    {
      image: environment?.spec.image ?? null,
      model: view.model,
      requires: requirementsText(environment?.spec.requires),
    },
  ]);
  return { images: names('image'), models: names('model'), agents: Object.fromEntries(own) };
}

const rowOf = (kind: LimitRow['kind'], name: string, limits: DispatchLimits): readonly LimitRow[] =>
  limits.concurrency === undefined && limits.rate === undefined ? [] : [asRow(kind, name, limits)];

/** A tenant that is named has just what is said of it, also if that is nothing. */
const asRow = (kind: LimitRow['kind'], name: string, { concurrency, rate }: DispatchLimits): LimitRow => ({
  ...{ kind, name, concurrency: concurrency ?? null },
  ...{ rate_runs: rate?.runs ?? null, rate_per_ms: rate?.perMs ?? null },
});

/** Where the SDK has changed inside, DBOS chooses what is taken, and knows no limits of ours. */
export function assertNoLimits(limits: readonly LimitRow[]): void {
  if (limits.length > 0)
    throw new HoldfastError('library_changed', 'The DBOS SDK that is installed does not let limits be kept.', {
      hint: 'Install the version that package.json names, or remove `concurrency`, `rate`, `tenants`, `images` and `models`.',
    });
}
