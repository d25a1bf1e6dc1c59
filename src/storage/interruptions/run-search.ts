import type { Knex } from 'knex';
import { z } from 'zod';
import type { InterruptionView } from '../../core/interruptions/interruption.js';
import { type RunOrder, SEARCHED_MOST } from '../../core/interruptions/run-rows.js';
import { idText } from '../../core/json.js';
import { readCursor, writeCursor } from '../../core/page.js';
import { type PageRows, PREVIEW_BYTES, rowsOfPage } from '../runs/page-rows.js';
import { LISTED_RUN_BYTES, listedRunColumns } from '../runs/run-columns.js';
import {
  decodeCursor,
  encodeCursor,
  type ListedRunRow,
  newestPage,
  type Placed,
  placeOf,
  type RunFilter,
  withFilter,
} from '../runs/run-list.js';
import { runs } from '../runs/runs.js';

/** By what runs stand, the highest first; then by their id. */
interface Order {
  /** As the index has it. */
  readonly sql: string;
  readonly type: string;
  /** Which runs have a place, as the index has it; null: all. */
  readonly has: string | null;
}

const ORDERS: Readonly<Record<RunOrder, Order>> = {
  newest: { sql: 'created_at', type: 'timestamptz', has: null },
  cost: {
    ...{ sql: 'cost_nano_usd + child_cost_nano_usd', type: 'bigint' },
    has: 'cost_nano_usd + child_cost_nano_usd > 0',
  },
  duration: {
    ...{ sql: 'extract(epoch from completed_at - created_at)', type: 'numeric' },
    has: 'isfinite(completed_at) AND isfinite(created_at)',
  },
};

const placed = (order: RunOrder) =>
  z.tuple([z.literal(order), z.string().regex(/^-?\d{1,18}(\.\d{1,6})?$/), idText] as const);

function placeIn(order: RunOrder, cursor: string): readonly [place: string, id: string] {
  if (order === 'newest') {
    const { at, id } = decodeCursor(cursor);
    return [at, id];
  }
  const [, place, id] = readCursor(cursor, placed(order));
  return [place, id];
}

/** Where the page behind a row begins. */
const cursorBehind = (order: RunOrder, { place, id }: Placed<{ readonly id: string }>): string =>
  order === 'newest' ? encodeCursor(place, id) : writeCursor([order, place, id]);

/** What names the place of a run, as a column. */
const placeBy = (db: Knex, order: RunOrder): Knex.Raw =>
  order === 'newest' ? placeOf(db, 'created_at') : db.raw(`(${ORDERS[order].sql})::text as place`);

/** The runs that have a place in an order, behind a cursor. */
function behind<Q extends Knex.QueryBuilder>(query: Q, order: RunOrder, cursor: string | undefined): Q {
  const { sql, type, has } = ORDERS[order];
  if (has !== null) query.whereRaw(has);
  if (cursor !== undefined) query.whereRaw(`(${sql}, id) < (?::${type}, ?)`, [...placeIn(order, cursor)]);
  return query;
}

const ordered = <Q extends Knex.QueryBuilder>(query: Q, order: RunOrder): Q => {
  query.orderByRaw(`${ORDERS[order].sql} desc, id desc`);
  return query;
};

/** A page of runs in an order. */
const orderedPage = <R extends object>(
  db: Knex,
  query: Knex.QueryBuilder,
  order: RunOrder,
  { limit, bytes }: { readonly limit: number; readonly bytes: string },
): Promise<PageRows<Placed<R>>> =>
  rowsOfPage<Placed<R>>(db, query.select(placeBy(db, order)), {
    ...{ bytes, limit },
    order: [
      { sql: `(${ORDERS[order].sql})`, order: 'desc' },
      { column: 'id', order: 'desc' },
    ],
  });

interface Search {
  readonly limit: number;
  readonly cursor?: string;
  readonly text?: string;
  readonly order: RunOrder;
}

interface Found extends PageRows<Placed<ListedRunRow>> {
  /** Where to go on; null: there is nothing behind. */
  readonly next: string | null;
}

/** A page of runs that fit a filter and have a text, in an order. It looks at so many runs at most, and says where it stopped. */
export const searchRunRows = (db: Knex, filter: RunFilter, search: Search): Promise<Found> =>
  search.order === 'newest' && search.text === undefined
    ? newestPage(db, filter, search.cursor, (narrowed) => pageOfSearch(db, narrowed, search))
    : pageOfSearch(db, filter, search);

async function pageOfSearch(db: Knex, filter: RunFilter, { text, order, limit, cursor }: Search): Promise<Found> {
  const fitting = <Q extends Knex.QueryBuilder>(query: Q): Q => behind(withFilter(db, query, filter), order, cursor);
  const query = fitting(runs(db).select(listedRunColumns(db)));
  const window = ordered(fitting(runs(db)), order).limit(SEARCHED_MOST);
  if (text !== undefined) {
    // As the column has it: with the escapes of JSON.
    const json = JSON.stringify(text).slice(1, -1);
    const hits = db
      .from(window.clone().select('id', 'input').as('w'))
      .whereRaw(`(starts_with(id, ?) or position(lower(?) in lower(left(input, ${PREVIEW_BYTES}))) > 0)`, [text, json])
      .select('id');
    query.whereIn('id', hits);
  }
  const found = await orderedPage<ListedRunRow>(db, query, order, { limit, bytes: LISTED_RUN_BYTES });
  const shown = found.rows.at(-1);
  if (found.more && shown !== undefined) return { ...found, next: cursorBehind(order, shown) };
  if (text === undefined) return { ...found, next: null };
  const [last]: Placed<{ id: string }>[] = await window
    .clone()
    .offset(SEARCHED_MOST - 1)
    .limit(1)
    .select('id', placeBy(db, order));
  return { ...found, next: last === undefined ? null : cursorBehind(order, last) };
}

export interface WaitRow {
  readonly run_id: string;
  readonly kind: InterruptionView['kind'];
  readonly count: number;
  readonly oldest: Date;
  readonly expires: Date | null;
}

/** What each of several runs waits for, by run. */
export async function waitsOf(db: Knex, runIds: readonly string[]): Promise<ReadonlyMap<string, WaitRow>> {
  if (runIds.length === 0) return new Map();
  const rows: WaitRow[] = await db('holdfast.interruptions')
    .whereRaw('run_id = any(?)', [[...runIds]])
    .where({ status: 'pending' })
    .groupBy('run_id')
    .select(
      'run_id',
      db.raw(`(array_agg(kind order by requested_at, id))[1] as kind, count(*)::int as count,
        min(requested_at) as oldest, min(expires_at) as expires`),
    );
  return new Map(rows.map((row) => [row.run_id, row]));
}
