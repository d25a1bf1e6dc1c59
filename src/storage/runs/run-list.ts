import type { Knex } from 'knex';
import { z } from 'zod';
import type { InterruptionView } from '../../core/interruptions/interruption.js';
import { readCursor, writeCursor } from '../../core/page.js';
import type { RunStatus } from '../../core/runs/run.js';
import { idsOfSubject } from '../retention/subjects.js';
import type { Cut } from './page-rows.js';
import { type PageRows, rowsOfPage } from './page-rows.js';
import { LISTED_RUN_BYTES, listedRunColumns } from './run-columns.js';
import type { RunRow } from './run-row.js';
import { runs } from './runs.js';

/** Newest first: the place after the last item of a page. */
const cursorShape = z.tuple([
  z.iso.datetime().refine((at) => new Date(at).getUTCFullYear() > 0),
  // An id, or the key of a batch.
  z.string().regex(/^[\x21-\x7e]{1,255}$/),
]);

/** `at` is a time in UTC as RFC 3339 writes it, as exact as the column is. */
export const encodeCursor = (at: string, id: string): string => writeCursor([at, id]);

export function decodeCursor(cursor: string): { readonly at: string; readonly id: string } {
  const [at, id] = readCursor(cursor, cursorShape);
  return { at, id };
}

/** The place of a row in a list by time. A `Date` of the driver is cut to milliseconds, and would skip or repeat rows. */
export const placeBy = (db: Knex, column: string): Knex.Raw => placeOf(db, db.ref(column).toQuery());

/** The same by an expression. */
export const placeOf = (db: Knex, sql: string): Knex.Raw =>
  db.raw(`to_char((${sql}) at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as place`);

/** A row with its place in a list by time. */
export type Placed<Row> = Row & { readonly place: string };

/** Where the page after these rows begins; null: there is none. */
export function cursorAfter({ rows, more }: PageRows<Placed<{ readonly id: string }>>): string | null {
  const last = rows.at(-1);
  return more && last !== undefined ? encodeCursor(last.place, last.id) : null;
}

interface Newest {
  /** Which columns name the time and the id of a row. */
  readonly at?: string;
  readonly id?: string;
  /** Bytes of the long columns of a row, as SQL. */
  readonly bytes: string;
}

/** A page of rows by the time of their creation, newest first. */
export async function newestFirst<R>(
  db: Knex,
  query: Knex.QueryBuilder,
  { limit, cursor }: { readonly limit: number; readonly cursor?: string },
  { at = 'created_at', id = 'id', bytes }: Newest,
): Promise<PageRows<Placed<R>>> {
  query.select(placeBy(db, at));
  if (cursor !== undefined) {
    const place = decodeCursor(cursor);
    query.whereRaw('(??, ??) < (?::timestamptz, ?)', [at, id, place.at, place.id]);
  }
  const order = [at, id].map((column) => ({ column, order: 'desc' as const }));
  return rowsOfPage<Placed<R>>(db, query, { order, bytes, limit });
}

/** A run in a list; what it may do is left out. */
export type ListedRunRow = RunRow & Cut<'input' | 'output'>;

/** What narrows a list of runs. */
export interface RunFilter {
  readonly tenant: string;
  readonly status?: RunStatus;
  readonly agent?: string;
  readonly parent?: string;
  readonly subject?: string;
  readonly session?: string;
  /** A code with which they failed. */
  readonly error?: string;
  /** Made at this time or later. */
  readonly from?: Date;
  /** Made before this time. */
  readonly to?: Date;
  /** One of the tags in their metadata. */
  readonly tag?: string;
  /** Made at this time or later; of each of them the tags are read, without the index. */
  readonly tagReadSince?: string;
  /** The task that they are attempts of. */
  readonly task?: string;
  /** A model that they have asked. */
  readonly model?: string;
  /** What a paused one waits for. */
  readonly waiting?: InterruptionView['kind'];
}

/** As the index has it. What is written with an escape by its number, `jsonb` may not take. */
const HAS_TAGS = `metadata LIKE '%"tags":[%'`;
const TAGS = `(CASE WHEN ${HAS_TAGS} AND position('\\u' in metadata) = 0 THEN metadata::jsonb -> 'tags' END)`;

export function withFilter<Q extends Knex.QueryBuilder>(db: Knex, query: Q, filter: RunFilter): Q {
  const { tenant, status, agent, parent, subject, session, error, from, to, task, model, waiting } = filter;
  const same = Object.entries({ tenant, status, agent, parent_run_id: parent, session_id: session, task_id: task });
  query.where(Object.fromEntries(same.filter(([, value]) => value !== undefined)));
  if (subject !== undefined) query.whereIn('id', idsOfSubject(db, tenant, subject));
  if (error !== undefined) query.whereNotNull('error').whereRaw(`${ERROR_CODE} = ?`, [error]);
  if (from !== undefined) query.where('created_at', '>=', from);
  if (to !== undefined) query.where('created_at', '<', to);
  whereTagged(query, filter);
  if (model !== undefined) query.whereIn('id', db('holdfast.charges').where({ tenant, model }).select('run_id'));
  if (waiting !== undefined) query.where({ status: 'paused' }).whereIn('id', waitingFor(db, tenant, waiting));
  return query;
}

function whereTagged(query: Knex.QueryBuilder, { tag, tagReadSince }: RunFilter): void {
  if (tag === undefined) return;
  // What is joined with nothing is the same, and no index has it.
  const tags = tagReadSince === undefined ? TAGS : `(${TAGS} || '[]'::jsonb)`;
  query.whereRaw(`${HAS_TAGS} AND ${tags} @> ?::jsonb`, [JSON.stringify([tag])]);
  if (tagReadSince !== undefined) query.where('created_at', '>=', tagReadSince);
}

/** Of so many of the newest runs the tags are read, before their index is asked. */
const TAGS_READ = 5000;

/**
 * A page of runs, newest first. The index of tags gives all runs with a tag, and each of them has to be sorted. So the newest runs are read
 * first, and only if they do not fill the page the index is asked.
 */
export async function newestPage<P extends { readonly more: boolean }>(
  db: Knex,
  filter: RunFilter,
  cursor: string | undefined,
  pageOf: (filter: RunFilter) => Promise<P>,
): Promise<P> {
  if (filter.tag === undefined) return pageOf(filter);
  const newest = runs(db).where({ tenant: filter.tenant });
  if (cursor !== undefined) {
    const { at, id } = decodeCursor(cursor);
    newest.whereRaw('(created_at, id) < (?::timestamptz, ?)', [at, id]);
  }
  if (filter.to !== undefined) newest.where('created_at', '<', filter.to);
  const [edge]: { since: string }[] = await newest
    .orderByRaw('created_at desc, id desc')
    .offset(TAGS_READ)
    .limit(1)
    .select(db.raw('created_at::text as since'));
  if (edge === undefined) return pageOf(filter);
  const page = await pageOf({ ...filter, tagReadSince: edge.since });
  return page.more ? page : pageOf(filter);
}

const waitingFor = (db: Knex, tenant: string, kind: InterruptionView['kind']): Knex.QueryBuilder =>
  db('holdfast.interruptions').where({ tenant, kind, status: 'pending' }).select('run_id');

/** As the index has it. */
export const ERROR_CODE = `(regexp_match(error, '"code":"([a-z_]+)"'))[1]`;

/** A page of runs, newest first, with long values cut. */
export const listRunRows = (
  db: Knex,
  { limit, cursor, ...filter }: RunFilter & { readonly limit: number; readonly cursor?: string },
): Promise<PageRows<Placed<ListedRunRow>>> =>
  newestPage(db, filter, cursor, (narrowed) =>
    newestFirst(
      db,
      withFilter(db, runs(db).select(listedRunColumns(db)), narrowed),
      { limit, ...(cursor === undefined ? {} : { cursor }) },
      { bytes: LISTED_RUN_BYTES },
    ),
  );

export async function countRuns(db: Knex, tenant: string): Promise<Partial<Record<RunStatus, number>>> {
  const rows: { status: RunStatus; n: string | number }[] = await runs(db)
    .where({ tenant })
    .groupBy('status')
    .select('status')
    .count({ n: '*' });
  return Object.fromEntries(rows.map((row) => [row.status, Number(row.n)]));
}

export async function sumTokens(db: Knex, tenant: string): Promise<number> {
  const row: { n?: string | number | null } | undefined = await runs(db)
    .where({ tenant })
    .sum({ n: 'total_tokens' })
    .first();
  return Number(row?.n ?? 0);
}

/** Narrows rows to those with a number in a column that is within bounds; undefined: there is no such bound. */
export function whereWithin(
  query: Knex.QueryBuilder,
  column: string,
  least: number | undefined,
  most: number | undefined,
): void {
  if (least !== undefined) query.where(column, '>=', least);
  if (most !== undefined) query.where(column, '<=', most);
}
