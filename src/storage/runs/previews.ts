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
