import type { Knex } from 'knex';
import { appendSystemEvent } from '../ops/system-events.js';

/** A process: its worker id with the epoch, since the next process has the same id. */
interface Process {
  readonly id: string;
  readonly epoch: number;
}

/** What is worked at, by name; work of all tenants is of `default`. */
export interface NamedWork {
  readonly tenant: string;
  readonly name: string;
}

/** Work that is not begun any more, and how often a process died with it. */
export interface SetAside extends NamedWork {
  readonly deaths: number;
  readonly diedAt: Date;
}

/** One that was not heard of for so long is gone, also where no one comes after it under its id. */
const SILENT = `interval '1 minute'`;
/**
 * A process that ends its work, or leaves by itself, takes its note away; one that is gone has left it. One that was asked to leave was
 * ended from outside.
 */
const DEAD = `not exists (select from holdfast.workers w where w.id = n.worker and w.epoch = n.epoch and w.stopped_at is null
  and (w.heartbeat_at > now() - ${SILENT} or w.leaving_at is not null or w.stop_asked is not null))`;
/** Work is tried again when its last deaths are older. */
const LATELY = `n.began_at > now() - interval '1 day'`;

/** Notes that a process begins something, and gives the note with the number of processes that died with it lately. */
export async function beginWork(
  db: Knex,
  { tenant, name }: NamedWork,
  process: Process,
): Promise<{ readonly note: string; readonly deaths: number }> {
  const { rows }: { rows: { note: string; deaths: number }[] } = await db.raw(
    `with mine as (insert into holdfast.work_notes (tenant, name, worker, epoch)
                   values (:tenant, :name, :worker, :epoch) returning id)
     select mine.id as note, (select count(distinct (n.worker, n.epoch))::int from holdfast.work_notes n
                               where n.tenant = :tenant and n.name = :name and ${LATELY} and ${DEAD}) as deaths
       from mine`,
    { tenant, name, worker: process.id, epoch: process.epoch },
  );
  // What is inserted comes back.
  return rows[0] as { note: string; deaths: number };
}

/** The work has ended, in whatever way: no one died with it, and the deaths before are forgotten. */
export const endWork = (db: Knex, { tenant, name }: NamedWork, note: string): Promise<unknown> =>
  db.raw(`delete from holdfast.work_notes n where n.id = ? or (n.tenant = ? and n.name = ? and ${DEAD})`, [
    note,
    tenant,
    name,
  ]);

/** Takes a note away whose work was not begun, and tells why, once for each time that it comes to this. */
export async function setWorkAside(
  trx: Knex.Transaction,
  { tenant, name }: NamedWork,
  { note, deaths }: { readonly note: string; readonly deaths: number },
): Promise<void> {
  await trx('holdfast.work_notes').where({ id: note }).delete();
  const last = await trx('holdfast.work_notes').where({ tenant, name }).max({ id: 'id' }).first();
  const key = `work:${tenant}:${name}:${last?.id}`;
  await appendSystemEvent(trx, { kind: 'work.set_aside', tenant, data: { name, deaths }, key });
}

/** Takes all notes of a process away that leaves by itself. */
export const deleteWorkNotes = (db: Knex, { id, epoch }: Process): Promise<number> =>
  db('holdfast.work_notes').where({ worker: id, epoch }).delete();

/** Takes all notes of a worker away that was asked to leave and has not: to be called before its epoch is raised. */
export const deleteNotesOfLeaving = (trx: Knex.Transaction, id: string): Promise<unknown> =>
  trx.raw(
    `delete from holdfast.work_notes n using holdfast.workers w
      where w.id = ? and n.worker = w.id and n.epoch = w.epoch and w.stopped_at is null
        and (w.leaving_at is not null or w.stop_asked is not null)`,
    [id],
  );

/** Forgets the deaths with a piece of work, also those that count for none any more. Gives of how many processes. */
export async function forgetDeaths(db: Knex, { tenant, name }: NamedWork): Promise<number> {
  const { rows }: { rows: object[] } = await db.raw(
    `with gone as (delete from holdfast.work_notes n where n.tenant = ? and n.name = ? and ${DEAD} returning n.worker, n.epoch)
     select distinct worker, epoch from gone`,
    [tenant, name],
  );
  return rows.length;
}

/** Whether a process died lately with this. */
export async function hasDied(db: Knex, { tenant, name }: NamedWork): Promise<boolean> {
  const { rows } = await db.raw(
    `select from holdfast.work_notes n where n.tenant = ? and n.name = ? and ${LATELY} and ${DEAD} limit 1`,
    [tenant, name],
  );
  return rows.length > 0;
}

/** Work with which so many processes died lately, the newest first. */
export async function workSetAside(
  db: Knex,
  {
    crashLimit,
    tenant,
    limit,
  }: { readonly crashLimit: number; readonly tenant: string | null; readonly limit: number },
): Promise<SetAside[]> {
  const { rows }: { rows: SetAside[] } = await db.raw(
    `select n.tenant, n.name, count(distinct (n.worker, n.epoch))::int as deaths, max(n.began_at) as "diedAt"
       from holdfast.work_notes n
      where ${LATELY} and ${DEAD} and n.tenant = coalesce(:tenant, n.tenant)
      group by n.tenant, n.name having count(distinct (n.worker, n.epoch)) >= :crashLimit
      order by 4 desc, 2 limit :limit`,
    { crashLimit, tenant, limit },
  );
  return rows;
}

/** What is left of deaths that do not count any more. */
export const forgetOldNotes = (db: Knex): Promise<unknown> =>
  db.raw(`delete from holdfast.work_notes n where n.began_at < now() - interval '7 days' and ${DEAD}`);
