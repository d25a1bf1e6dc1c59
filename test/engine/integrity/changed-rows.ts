import type { Knex } from 'knex';
import type { VerifyReport } from '../../../src/core/log/verify-log.js';
import { LogReading, logPages } from '../../../src/engine/evidence/log-reading.js';
import { readClaimed } from '../../../src/storage/integrity/copied-rows.js';

/** Changes of rows by SQL, which are put back, and what is then said of them. */

/** Verifies a run as `verify` does, on a database that no engine is on. */
export async function verify(knex: Knex, id: string): Promise<VerifyReport> {
  const claimed = (await readClaimed(knex, [id])).get(id);
  if (claimed === undefined) throw new Error(`there is no run ${id}`);
  const reading = new LogReading(claimed.claim, { copies: claimed.copies });
  for await (const page of logPages(knex, id, 0)) if (!reading.take(page)) break;
  return reading.report(knex);
}

interface Described {
  readonly table_name: string;
  readonly column_name: string;
  readonly data_type: string;
}

/** Columns of tables, in their order. */
export const described = (knex: Knex, tables: readonly string[]): Promise<Described[]> =>
  knex('information_schema.columns')
    .where({ table_schema: 'holdfast' })
    .whereIn('table_name', [...tables])
    .orderBy(['table_name', 'ordinal_position'])
    .select('table_name', 'column_name', 'data_type');

/** SQL of another value than the one that is there, of the type of the column. */
const OTHER: Readonly<Record<string, string>> = {
  text: `coalesce(??, '') || 'x'`,
  smallint: 'coalesce(??, 0) + 1000',
  integer: 'coalesce(??, 0) + 1000',
  bigint: 'coalesce(??, 0) - 900000000',
  boolean: 'not coalesce(??, false)',
  'timestamp with time zone': `coalesce(??, now()) - interval '1 day'`,
};

/** Of a key in hex a letter more is no other key. */
const OTHER_OF: Readonly<Record<string, string>> = { 'run_keys.key': 'reverse(??)' };

/** Puts another value into a column of one row, past all constraints. */
export async function changeColumn(
  trx: Knex.Transaction,
  {
    table,
    column,
    type,
    ctid,
  }: { readonly table: string; readonly column: string; readonly type: string; readonly ctid: string },
): Promise<void> {
  const other = (OTHER_OF[`${table}.${column}`] ?? OTHER[type] ?? OTHER['text'] ?? '').replace('??', `"${column}"`);
  await trx.raw(`set local session_replication_role = replica`);
  await trx.raw(`update holdfast.${table} set "${column}" = ${other} where ctid = ?::tid`, [ctid]);
}

/** What `say` says after a change, which is put back. */
export async function after<T>(
  knex: Knex,
  change: (trx: Knex.Transaction) => PromiseLike<unknown>,
  say: (trx: Knex.Transaction) => Promise<T>,
): Promise<T> {
  const undone = new Undone();
  let said: { readonly it: T } | null = null;
  await knex
    .transaction(async (trx) => {
      await change(trx);
      said = { it: await say(trx) };
      throw undone;
    })
    .catch((error: unknown) => {
      if (error !== undone) throw error;
    });
  // It was undone after it was said.
  return (said as unknown as { readonly it: T }).it;
}

class Undone extends Error {}

const WHERE: { readonly [table: string]: string } = {
  runs: 'id = ?',
  agents: 'definition_hash = (select agent_hash from holdfast.runs where id = ?)',
  mcp_lists: 'digest in (select digest from holdfast.mcp_pins where run_id = ?)',
};

/** The rows of a table that are of a run. */
export const rowsOf = async (knex: Knex, table: string, id: string): Promise<{ ctid: string }[]> => {
  const { rows } = await knex.raw(`select ctid::text from holdfast.${table} where ${WHERE[table] ?? 'run_id = ?'}`, [
    id,
  ]);
  return rows;
};
