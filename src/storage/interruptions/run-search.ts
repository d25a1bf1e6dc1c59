import type { Knex } from 'knex';
import type { InterruptionView } from '../../core/interruptions/interruption.js';
import { type RunOrder, SEARCHED_MOST } from '../../core/interruptions/run-rows.js';
import { type PageRows, PREVIEW_BYTES } from '../runs/page-rows.js';
import { LISTED_RUN_BYTES, listedRunColumns } from '../runs/run-columns.js';
import { type ListedRunRow, type Placed, type RunFilter, withFilter } from '../runs/run-list.js';
import { behind, cursorBehind, ordered, orderedPage, placeBy } from '../runs/run-orders.js';
import { runs } from '../runs/runs.js';

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
export async function searchRunRows(
  db: Knex,
  filter: RunFilter,
  { text, order, limit, cursor }: Search,
): Promise<Found> {
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
