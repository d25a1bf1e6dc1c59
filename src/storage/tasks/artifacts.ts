import type { Knex } from 'knex';

/** Which runs have artifacts in a store, and which of those are to go. What there is says the log of the run. */

interface ArtifactsRow {
  readonly run_id: string;
  readonly tenant: string;
  readonly place: string;
  /** Null: they stay. */
  readonly goes_at: Date | null;
  readonly created_at: Date;
}

const rows = (db: Knex) => db<ArtifactsRow>('holdfast.artifacts');

/** Says that a run has artifacts, before the first of them is there. */
export async function beginArtifacts(
  db: Knex,
  { runId, tenant, place }: { readonly runId: string; readonly tenant: string; readonly place: string },
): Promise<void> {
  await rows(db)
    .insert({ run_id: runId, tenant, place } as never)
    .onConflict('run_id')
    .ignore();
}

/** Has those of a run removed, by the next worker that reaches their place. */
export async function dropArtifacts(trx: Knex.Transaction, runId: string): Promise<void> {
  await rows(trx)
    .where({ run_id: runId })
    .update({ goes_at: trx.fn.now() } as never);
}

/** Takes some that are to go, and leaves them to no other worker for so long. */
export async function takeDropped(db: Knex, place: string, limit: number, forMs: number): Promise<readonly string[]> {
  const due = rows(db)
    .where({ place })
    .where('goes_at', '<=', db.fn.now())
    .orderBy('goes_at')
    .limit(limit)
    .forUpdate()
    .skipLocked()
    .select('run_id');
  const taken = await rows(db)
    .whereIn('run_id', due)
    .update({ goes_at: db.raw("now() + ? * interval '1 millisecond'", [forMs]) } as never)
    .returning('run_id');
  return taken.map(({ run_id }) => run_id);
}

/** They are gone. */
export async function forgetArtifacts(db: Knex, runId: string): Promise<void> {
  await rows(db).where({ run_id: runId }).whereNotNull('goes_at').delete();
}
