import type { Knex } from 'knex';

/** Somebody asked to erase all of a subject. */
export interface ErasureRequestRow {
  id: string;
  tenant: string;
  /** Null when it is done. */
  subject: string | null;
  status: 'working' | 'done';
  cancel: boolean;
  actor: string;
  reason: string;
  erased: number;
  taken_until: Date | null;
  requested_at: Date;
  finished_at: Date | null;
}

const requests = (db: Knex) => db<ErasureRequestRow>('holdfast.erasure_requests');

export const findErasureRequest = (db: Knex, tenant: string, id: string): Promise<ErasureRequestRow | undefined> =>
  requests(db).where({ tenant, id }).first();

/** A request about one of these subjects that is not done. */
export const openErasureOf = (
  db: Knex,
  tenant: string,
  names: readonly string[],
): Promise<ErasureRequestRow | undefined> =>
  requests(db)
    .where({ tenant, status: 'working' })
    .whereIn('subject', [...names])
    .first();

export async function insertErasureRequest(
  trx: Knex.Transaction,
  made: Pick<ErasureRequestRow, 'id' | 'tenant' | 'cancel' | 'actor' | 'reason'> & { readonly subject: string },
): Promise<ErasureRequestRow> {
  const [row] = await requests(trx)
    .insert({ ...made, status: 'working' })
    .returning('*');
  // What is inserted comes back.
  return row as ErasureRequestRow;
}

const TAKEN = "interval '30 seconds'";

/**
 * Takes a request that nobody works on, `id`: this one. Who dies with it holds it up for half a minute. The one that was looked at
 * longest ago comes first, so that one that waits for its runs holds up no other.
 */
export async function takeErasureRequest(db: Knex, id: string | null): Promise<ErasureRequestRow | undefined> {
  const { rows }: { rows: ErasureRequestRow[] } = await db.raw(
    `update holdfast.erasure_requests set taken_until = now() + ${TAKEN}
      where id = (select id from holdfast.erasure_requests
                   where status = 'working' and (taken_until is null or taken_until < now()) and id = coalesce(?, id)
                   order by taken_until nulls first, requested_at limit 1 for update skip locked)
     returning *`,
    [id],
  );
  return rows[0];
}

/** Takes it for longer, or lets go of it: in some seconds somebody looks at it again. */
export async function holdErasureRequest(db: Knex, id: string, seconds: number): Promise<void> {
  await requests(db)
    .where({ id, status: 'working' })
    .update({ taken_until: db.raw("now() + ? * interval '1 second'", [seconds]) as unknown as Date });
}

/** Counts a run, in the transaction that erases it. */
export async function countErased(trx: Knex.Transaction, id: string): Promise<void> {
  await requests(trx).where({ id }).increment('erased', 1);
}

/** Nobody knows any more whom it was about. */
export async function finishErasureRequest(trx: Knex.Transaction, id: string): Promise<void> {
  await requests(trx)
    .where({ id, status: 'working' })
    .update({ status: 'done', subject: null, taken_until: null, finished_at: trx.fn.now() as unknown as Date });
}
