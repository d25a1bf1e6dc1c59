import type { Knex } from 'knex';
import { KEY_SEPARATOR } from '../../core/queue/dispatch.js';
import { runIdSql } from '../dbos/workflow-id.js';

/** A limit of an agent, an image or a model (of all tenants together), of a tenant, or of each tenant that has none of its own (`tenants`). */
export interface LimitRow {
  readonly kind: 'agent' | 'image' | 'model' | 'tenant' | 'tenants';
  /** '' for `tenants`. */
  readonly name: string;
  readonly concurrency: number | null;
  readonly rate_runs: number | null;
  readonly rate_per_ms: number | null;
}

/** Makes these the limits of the database, in the place of those that it had. False: it had just these. */
export function saveLimits(db: Knex, rows: readonly LimitRow[]): Promise<boolean> {
  return db.transaction(async (trx) => {
    // Two processes that start at once must not mix theirs.
    await trx.raw('lock table holdfast.dispatch_limits in share row exclusive mode');
    const had: LimitRow[] = await trx('holdfast.dispatch_limits').select(
      ...(['kind', 'name', 'concurrency', 'rate_runs', 'rate_per_ms'] as const),
    );
    if (same(had, rows)) return false;
    await trx('holdfast.dispatch_limits').delete();
    if (rows.length > 0) await trx('holdfast.dispatch_limits').insert([...rows]);
    return true;
  });
}

const same = (one: readonly LimitRow[], other: readonly LimitRow[]): boolean => {
  const texts = (rows: readonly LimitRow[]) =>
    rows
      .map(({ kind, name, concurrency, rate_runs, rate_per_ms }) =>
        JSON.stringify([kind, name, concurrency, rate_runs, rate_per_ms]),
      )
      .toSorted();
  return texts(one).join('\n') === texts(other).join('\n');
};

/** Removes beginnings that no rate counts any more. */
export async function forgetStarts(db: Knex): Promise<void> {
  await db('holdfast.dispatch_starts').whereRaw('expires_at < now()').delete();
}

/** Gives segments a key that a build put into the queue which knew none: without one they are not taken, or not counted. */
export async function keySegments(db: Knex, queue: string): Promise<void> {
  await db.raw(
    `update dbos.workflow_status s set queue_partition_key = r.tenant || ? || r.agent
       from holdfast.runs r
      where s.queue_name = ? and s.status in ('ENQUEUED', 'PENDING') and s.queue_partition_key is null
        and r.id = ${runIdSql('s.workflow_uuid')}`,
    [KEY_SEPARATOR, queue],
  );
}
