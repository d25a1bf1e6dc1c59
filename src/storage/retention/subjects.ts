import type { Knex } from 'knex';
import { HoldfastError } from '../../core/errors/errors.js';
import { OVER } from '../../core/runs/run.js';

interface SubjectRow {
  tenant: string;
  subject: string;
  run_id: string;
}

const subjects = (db: Knex) => db<SubjectRow>('holdfast.run_subjects');

const KEY = "hashtextextended('holdfast:subject:' || ?::text || ':' || name, 0)";

/**
 * Keeps the beginning and the end of an erasure apart from starts of runs of its subject: the one that erases is alone, and waits
 * for nothing else while it is.
 */
export async function lockSubject(trx: Knex.Transaction, tenant: string, subject: string): Promise<void> {
  await trx.raw(`select pg_advisory_xact_lock(${KEY}) from (select ?::text as name) one`, [tenant, subject]);
}

/** The same for starts, which are many. All at once and in one order, so that no two wait for each other. */
async function shareSubjects(trx: Knex.Transaction, tenant: string, names: readonly string[]): Promise<void> {
  await trx.raw(
    `select pg_advisory_xact_lock_shared(${KEY})
       from (select distinct name from unnest(?::text[]) as name order by name) ordered`,
    [tenant, [...names]],
  );
}

export async function insertSubjects(
  trx: Knex.Transaction,
  run: { readonly id: string; readonly tenant: string },
  names: readonly string[],
): Promise<void> {
  const rows = [...new Set(names)].map((subject) => ({ tenant: run.tenant, subject, run_id: run.id }));
  if (rows.length > 0) await subjects(trx).insert(rows);
}

export const subjectsOf = (db: Knex, runId: string): Promise<string[]> =>
  subjects(db).where({ run_id: runId }).orderBy('subject').pluck('subject');

/** Whom the runs are about whose items a session has. */
export const subjectsInSession = (db: Knex, tenant: string, sessionId: string): Promise<string[]> =>
  subjects(db)
    .whereIn('run_id', db('holdfast.session_items').where({ tenant, session_id: sessionId }).select('run_id'))
    .distinct()
    .pluck('subject');

/** What a run is about, a run that takes over its content is about, too. */
export async function copySubjects(trx: Knex.Transaction, from: string, to: string): Promise<void> {
  await trx.raw(
    `insert into holdfast.run_subjects (tenant, subject, run_id)
     select tenant, subject, ? from holdfast.run_subjects where run_id = ?`,
    [to, from],
  );
}

/** No one knows any more whom a run was about. */
export async function forgetSubjects(trx: Knex.Transaction, runId: string): Promise<void> {
  await subjects(trx).where({ run_id: runId }).delete();
}

export const idsOfSubject = (db: Knex, tenant: string, subject: string) =>
  subjects(db).where({ tenant, subject }).select('run_id');

/** Runs of a subject after an id. An erased run is of none. */
export const runsOfSubject = (
  db: Knex,
  of: { readonly tenant: string; readonly subject: string },
  after: string,
  limit: number,
): Promise<string[]> =>
  subjects(db)
    .where({ tenant: of.tenant, subject: of.subject })
    .where('run_id', '>', after)
    .orderBy('run_id')
    .limit(limit)
    .pluck('run_id');

const NOT_OVER_SHOWN = 20;

/** How many runs of a subject are left, and some of those that are not over. */
export async function leftOfSubject(
  db: Knex,
  tenant: string,
  subject: string,
): Promise<{ readonly left: number; readonly notOver: string[] }> {
  const [row] = await subjects(db).where({ tenant, subject }).count({ n: '*' });
  const notOver: string[] = await db('holdfast.run_subjects as s')
    .join('holdfast.runs as r', 'r.id', 's.run_id')
    .where({ 's.tenant': tenant, 's.subject': subject })
    .whereNotIn('r.status', [...OVER])
    .orderBy('r.id')
    .limit(NOT_OVER_SHOWN)
    .pluck('r.id');
  return { left: Number(row?.['n'] ?? 0), notOver };
}

/** Someone asked to erase all of a subject. */
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
 * Takes a request that no one works on, `id`: this one. Who dies with it holds it up for half a minute. The one that was looked at
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

/** Takes it for longer, or lets go of it: in some seconds someone looks at it again. */
export async function holdErasureRequest(db: Knex, id: string, seconds: number): Promise<void> {
  await requests(db)
    .where({ id, status: 'working' })
    .update({ taken_until: db.raw("now() + ? * interval '1 second'", [seconds]) as unknown as Date });
}

/** Counts a run, in the transaction that erases it. */
export async function countErased(trx: Knex.Transaction, id: string): Promise<void> {
  await requests(trx).where({ id }).increment('erased', 1);
}

/** No one knows any more whom it was about. */
export async function finishErasureRequest(trx: Knex.Transaction, id: string): Promise<void> {
  await requests(trx)
    .where({ id, status: 'working' })
    .update({ status: 'done', subject: null, taken_until: null, finished_at: trx.fn.now() as unknown as Date });
}

/** Throws `subject_erasing` while all of one of these subjects is being erased. Until the transaction ends, no erasure begins. */
export async function assertNotErasing(trx: Knex.Transaction, tenant: string, names: readonly string[]): Promise<void> {
  if (names.length === 0) return;
  await shareSubjects(trx, tenant, names);
  const open = await openErasureOf(trx, tenant, names);
  if (open !== undefined)
    throw new HoldfastError('subject_erasing', `All runs of a subject of this run are being erased: ${open.id}.`);
}
