import type { Knex } from 'knex';
import type { InterruptionView } from '../../core/interruptions/interruption.js';
import { SEARCHED_MOST } from '../../core/interruptions/run-rows.js';
import { type PageRows, PREVIEW_BYTES } from '../runs/page-rows.js';
import { LISTED_RUN_BYTES, listedRunColumns } from '../runs/run-columns.js';
import {
  cursorAfter,
  decodeCursor,
  encodeCursor,
  type ListedRunRow,
  newestFirst,
  type Placed,
  placeBy,
  type RunFilter,
  withFilter,
} from '../runs/run-list.js';
import { runs } from '../runs/runs.js';

interface Search {
  readonly limit: number;
  readonly cursor?: string;
  readonly text?: string;
}

interface Found extends PageRows<Placed<ListedRunRow>> {
  /** Where to go on; null: there is nothing behind. */
  readonly next: string | null;
}

/** A page of runs that fit a filter and have a text, newest first. It looks at so many runs at most, and says where it stopped. */
export async function searchRunRows(db: Knex, filter: RunFilter, { text, ...page }: Search): Promise<Found> {
  const query = withFilter(db, runs(db).select(listedRunColumns(db)), filter);
  if (text === undefined) {
    const found = await newestFirst<ListedRunRow>(db, query, page, { bytes: LISTED_RUN_BYTES });
    return { ...found, next: cursorAfter(found) };
  }
  const window = withFilter(db, runs(db), filter)
    .orderBy([
      { column: 'created_at', order: 'desc' },
      { column: 'id', order: 'desc' },
    ])
    .limit(SEARCHED_MOST);
  if (page.cursor !== undefined) {
    const place = decodeCursor(page.cursor);
    window.whereRaw('(created_at, id) < (?::timestamptz, ?)', [place.at, place.id]);
  }
  // As the column has it: with the escapes of JSON.
  const json = JSON.stringify(text).slice(1, -1);
  const hits = db
    .from(window.clone().select('id', 'input').as('w'))
    .whereRaw(`(starts_with(id, ?) or position(lower(?) in lower(left(input, ${PREVIEW_BYTES}))) > 0)`, [text, json])
    .select('id');
  const found = await newestFirst<ListedRunRow>(db, query.whereIn('id', hits), page, { bytes: LISTED_RUN_BYTES });
  if (found.more) return { ...found, next: cursorAfter(found) };
  const [last]: { id: string; place: string }[] = await window
    .clone()
    .offset(SEARCHED_MOST - 1)
    .limit(1)
    .select('id', placeBy(db, 'created_at'));
  return { ...found, next: last === undefined ? null : encodeCursor(last.place, last.id) };
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
