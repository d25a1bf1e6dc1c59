import type { Knex } from 'knex';

/** Takes an idempotency key for a run that is about to be made; null: it is ours. Else who has it, and for what request. */
export async function takeIdempotencyKey(
  trx: Knex.Transaction,
  key: {
    readonly tenant: string;
    readonly operation: string;
    readonly key: string;
    readonly fingerprint: string;
    readonly runId: string;
  },
): Promise<{ readonly runId: string; readonly fingerprint: string } | null> {
  const { tenant, operation, fingerprint, runId } = key;
  const inserted = await trx('holdfast.idempotency_keys')
    .insert({ tenant, operation, key: key.key, fingerprint, run_id: runId })
    .onConflict(['tenant', 'operation', 'key'])
    .ignore()
    .returning('key');
  if (inserted.length > 0) return null;
  const row: { run_id: string; fingerprint: string } | undefined = await trx('holdfast.idempotency_keys')
    .where({ tenant, operation, key: key.key })
    .first('run_id', 'fingerprint');
  return row === undefined ? null : { runId: row.run_id, fingerprint: row.fingerprint };
}

/** Which of some keys were taken, by whom and for what request. */
export async function takenKeys(
  db: Knex,
  of: { readonly tenant: string; readonly operation: string },
  keys: readonly string[],
): Promise<ReadonlyMap<string, { readonly runId: string; readonly fingerprint: string }>> {
  const rows: { key: string; run_id: string; fingerprint: string }[] = await db('holdfast.idempotency_keys')
    .where(of)
    .whereIn('key', [...keys])
    .select('key', 'run_id', 'fingerprint');
  return new Map(rows.map(({ key, run_id: runId, fingerprint }) => [key, { runId, fingerprint }]));
}
