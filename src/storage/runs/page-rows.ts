import type { Knex } from 'knex';

/** What the long columns of the rows of a page may take together, in bytes. One row that takes more comes alone. */
export const PAGE_BYTES = 4_194_304;

export type PageKey = { readonly order: 'asc' | 'desc' } & ({ readonly column: string } | { readonly sql: string });

interface PageTerms {
  /** Columns, or expressions over them, that name the place of a row, in this order; no two rows have the same. */
  readonly order: readonly PageKey[];
  /** Bytes of the long columns of a row, as SQL. `octet_length` of a column unpacks nothing. */
  readonly bytes: string;
  readonly limit: number;
}

export interface PageRows<Row> {
  readonly rows: readonly Row[];
  /** Whether there are rows behind them. */
  readonly more: boolean;
}

/**
 * The first rows of a query in an order: at most `limit` of them, and no more than hold `PAGE_BYTES` together, but at least one. The
 * database counts the bytes: what is not of the page is not sent.
 */
export async function rowsOfPage<Row extends object>(
  db: Knex,
  query: Knex.QueryBuilder,
  { order, bytes, limit }: PageTerms,
): Promise<PageRows<Row>> {
  for (const [at, key] of order.entries()) {
    const place = 'sql' in key ? db.raw(key.sql) : db.ref(key.column);
    query.select(db.raw('? as ??', [place, `page_key_${at}`])).orderByRaw(`? ${key.order}`, [place]);
  }
  const found = query
    .limit(limit + 1)
    .select(db.raw(`${bytes} as page_bytes`))
    .as('found');
  const keys = order.map((by, at) => `page_key_${at} ${by.order}`).join(', ');
  const counted = db
    .from(found)
    .select('found.*', db.raw('count(*) over () as page_found'))
    .select(db.raw(`row_number() over (order by ${keys}) as page_place`))
    .select(db.raw(`sum(page_bytes) over (order by ${keys}) as page_sum`))
    .as('counted');
  const rows: (Row & { readonly page_found: string | number })[] = await db
    .from(counted)
    .where('page_place', '<=', limit)
    .where((fits) => fits.where('page_place', 1).orWhere('page_sum', '<=', PAGE_BYTES))
    .orderBy('page_place')
    .select('*');
  return { rows, more: Number(rows[0]?.page_found ?? 0) > rows.length };
}

/** A value whose JSON takes more bytes is shown in part in lists. */
export const PREVIEW_BYTES = 4096;

/** A row of a list whose long columns may be cut. */
export type Cut<Column extends string> = Readonly<Record<`${Column}_cut`, boolean>>;

/** A text column as lists read it: no more than its beginning, and whether that is all. */
export const previewOf = (column: string): string =>
  `left("${column}", ${PREVIEW_BYTES}) as "${column}", coalesce(octet_length("${column}") > ${PREVIEW_BYTES}, false) as "${column}_cut"`;

/** Bytes that it takes at most: a character has up to four. */
export const previewBytes = (column: string): string =>
  `coalesce(least(octet_length("${column}"), ${4 * PREVIEW_BYTES}), 0)`;
