import type { Knex } from 'knex';
import { type CopyElsewhere, copyReason } from '../../core/retention/erasure.js';
import { OVER, type RunStatus } from '../../core/runs/run.js';
import { ancestorsOf, type RunRow } from '../runs/run-row.js';

const COPIES_SHOWN = 100;

/** Who erased or removed something, and why. */
export interface Erasing {
  readonly actor: string;
  readonly reason: string;
  /** The request to erase a subject that it is part of. */
  readonly requestId?: string;
  /** Retention takes runs and leaves what they remembered: memory has a retention of its own. */
  readonly keepsMemory?: boolean;
}

export interface ErasureRow extends Omit<Erasing, 'requestId' | 'keepsMemory'> {
  readonly run_id: string;
  readonly tenant: string;
  /** Where its log ended. */
  readonly seq: number;
  readonly hash: string;
  readonly erased_at: Date;
}

export const findErasure = (db: Knex, runId: string): Promise<ErasureRow | undefined> =>
  db<ErasureRow>('holdfast.erasures').where({ run_id: runId }).first();

/** Keeps who erased a run and why, with the head of its log. */
export async function insertErasure(
  trx: Knex.Transaction,
  runId: string,
  { actor, reason, requestId }: Erasing,
): Promise<void> {
  await trx.raw(
    // Where the content came back after an erasure, the first one stays.
    `insert into holdfast.erasures (run_id, tenant, actor, reason, request_id, seq, hash)
     select h.run_id, h.tenant, coalesce(e.actor, ?), coalesce(e.reason, ?), ?, h.seq, h.hash
       from holdfast.run_heads h
       left join holdfast.log_entries e on e.run_id = h.run_id and e.loss = 'erased' and e.seq = h.seq
      where h.run_id = ? on conflict (run_id) do nothing`,
    [actor, reason, requestId ?? null, runId],
  );
}

/** A run that may still read the result of another one: those above it, and forks of those, until they are over. */
export async function readerOf(db: Knex, run: RunRow): Promise<{ id: string; status: RunStatus } | null> {
  const above = ancestorsOf(run);
  if (above.length === 0) return null;
  const { rows }: { rows: { id: string; status: RunStatus }[] } = await db.raw(
    `with recursive readers as (
       select id, status from holdfast.runs where id = any(:above)
       union
       select r.id, r.status from holdfast.runs r join readers on r.forked_from_run_id = readers.id)
     select id, status from readers where status <> all(:over) order by id limit 1`,
    { above: [...above], over: [...OVER] },
  );
  return rows[0] ?? null;
}

/** Runs next to one that hold copies of it, and are not erased. */
export async function copiesOf(db: Knex, run: RunRow): Promise<CopyElsewhere[]> {
  const { rows }: { rows: { id: string; why: string }[] } = await db.raw(
    `select id, why from (
       select id, 'parent' as why from holdfast.runs where id = :parent and erased_at is null
       union all select id, 'child' from holdfast.runs where parent_run_id = :id and erased_at is null
       union all select id, 'fork' from holdfast.runs where forked_from_run_id = :id and erased_at is null
       union all select id, 'session' from holdfast.runs
                  where tenant = :tenant and session_id = :session and created_at > :completed and erased_at is null) c
      order by why, id limit ${COPIES_SHOWN}`,
    {
      ...{ id: run.id, tenant: run.tenant, parent: run.parent_run_id ?? '', session: run.session_id ?? '' },
      completed: run.completed_at,
    },
  );
  return rows.map(({ id, why }) => ({ runId: id, why: copyReason.parse(why) }));
}

/** Runs below a run, forks of it and of those, that are not erased yet: those that were made last come first. */
export async function familyToErase(db: Knex, runId: string, limit: number): Promise<string[]> {
  const { rows }: { rows: { id: string }[] } = await db.raw(
    `with recursive family as (
       select id from holdfast.runs where id = :runId
       union
       select next.id from family join lateral (
         select id from holdfast.runs where parent_run_id = family.id
         union all select id from holdfast.runs where forked_from_run_id = family.id) next on true)
     select r.id from family join holdfast.runs r using (id)
      where r.erased_at is null and r.id <> :runId order by r.created_at desc, r.id limit :limit`,
    { runId, limit },
  );
  return rows.map(({ id }) => id);
}
