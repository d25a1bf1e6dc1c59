import type { Knex } from 'knex';
import { z } from 'zod';
import type { RunOrder } from '../../core/interruptions/run-rows.js';
import { idText } from '../../core/json.js';
import { readCursor, writeCursor } from '../../core/page.js';
import { type PageRows, rowsOfPage } from './page-rows.js';
import { decodeCursor, encodeCursor, type Placed, placeOf } from './run-list.js';

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
export const cursorBehind = (order: RunOrder, { place, id }: Placed<{ readonly id: string }>): string =>
  order === 'newest' ? encodeCursor(place, id) : writeCursor([order, place, id]);

/** What names the place of a run, as a column. */
export const placeBy = (db: Knex, order: RunOrder): Knex.Raw =>
  order === 'newest' ? placeOf(db, 'created_at') : db.raw(`(${ORDERS[order].sql})::text as place`);

/** The runs that have a place in an order, behind a cursor. */
export function behind<Q extends Knex.QueryBuilder>(query: Q, order: RunOrder, cursor: string | undefined): Q {
  const { sql, type, has } = ORDERS[order];
  if (has !== null) query.whereRaw(has);
  if (cursor !== undefined) query.whereRaw(`(${sql}, id) < (?::${type}, ?)`, [...placeIn(order, cursor)]);
  return query;
}

export const ordered = <Q extends Knex.QueryBuilder>(query: Q, order: RunOrder): Q => {
  query.orderByRaw(`${ORDERS[order].sql} desc, id desc`);
  return query;
};

/** A page of runs in an order. */
export const orderedPage = <R extends object>(
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
