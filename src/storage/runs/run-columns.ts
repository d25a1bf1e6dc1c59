import type { Knex } from 'knex';
import { columnsOf } from '../database/columns.js';
import { previewBytes, previewOf } from './page-rows.js';
import type { RunRow } from './run-row.js';

const COLUMNS: { readonly [C in keyof RunRow]-?: true } = {
  id: true,
  tenant: true,
  parent_run_id: true,
  parent_call_id: true,
  ancestors: true,
  agent: true,
  agent_version: true,
  agent_hash: true,
  scaffold: true,
  status: true,
  priority: true,
  input: true,
  grants: true,
  limits: true,
  metadata: true,
  stream: true,
  output: true,
  error: true,
  segment: true,
  turns: true,
  input_tokens: true,
  output_tokens: true,
  total_tokens: true,
  cost_nano_usd: true,
  active_ms: true,
  time_left_ms: true,
  child_input_tokens: true,
  child_output_tokens: true,
  child_total_tokens: true,
  child_active_ms: true,
  child_cost_nano_usd: true,
  segment_started_at: true,
  cancel_requested_at: true,
  cancel_reason: true,
  forked_from_run_id: true,
  forked_from_seq: true,
  recorded_seq: true,
  rebuilt_segment: true,
  model: true,
  created_at: true,
  updated_at: true,
  completed_at: true,
  session_id: true,
  history_items: true,
  erased_at: true,
  task_id: true,
};

/** The columns of `holdfast.runs`. */
export const runColumns = columnsOf<RunRow>(COLUMNS);

const LARGE: ReadonlySet<string> = new Set(['input', 'output', 'grants'] satisfies (keyof RunRow)[]);

/** The same of a table under another name, with null in place of what may be large. */
export const lightRunColumns = (db: Knex, table: string): Knex.Raw =>
  db.raw(
    Object.keys(COLUMNS)
      .map((column) => (LARGE.has(column) ? `'null' as "${column}"` : `${table}."${column}"`))
      .join(', '),
  );

/** Such rows of runs, by their ids. */
export const lightRuns = (db: Knex, ids: readonly string[]): Promise<RunRow[]> =>
  db('holdfast.runs as r')
    .whereRaw('r.id = any(?)', [[...ids]])
    .select(lightRunColumns(db, 'r'));

const listed = (column: string): string => {
  if (column === 'grants') return `'[]' as "grants"`;
  return LARGE.has(column) ? previewOf(column) : `"${column}"`;
};

/** The same for lists: with the beginning of what may be large, and whether that is all of it. */
export const listedRunColumns = (db: Knex): Knex.Raw => db.raw(Object.keys(COLUMNS).map(listed).join(', '));

/** Bytes of these, as SQL. */
export const LISTED_RUN_BYTES = `octet_length(metadata) + coalesce(octet_length(error), 0)
  + ${previewBytes('input')} + ${previewBytes('output')}`;
