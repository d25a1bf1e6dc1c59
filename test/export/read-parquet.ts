import { DuckDBInstance } from '@duckdb/node-api';
import { asyncBufferFromFile, parquetReadObjects } from 'hyparquet';
import type { DatasetField, FieldType } from '../../src/core/exports/dataset-field.js';

/** Parquet as two readers that do not know each other read it, in the form that rows have in lines of JSON. */

export type Row = { readonly [column: string]: unknown };
export type Reader = (path: string, fields: readonly DatasetField[]) => Promise<Row[]>;

/** `readJson`: what the reader gives of a value with the type JSON, as a value. */
function plain(value: unknown, type: FieldType, readJson: (value: unknown) => unknown): unknown {
  if (value === null || value === undefined) return null;
  if (type === 'json') return readJson(value);
  if (type === 'int64') return Number(value);
  if (typeof type === 'string') return value;
  if (!Array.isArray(value)) throw new Error(`a list is ${typeof value}`);
  const { list } = type;
  return value.map((item) => (typeof list === 'string' ? plain(item, list, readJson) : record(item, list, readJson)));
}

const record = (value: unknown, fields: readonly DatasetField[], readJson: (value: unknown) => unknown): Row => {
  const row = value as Row;
  const names = new Set(fields.map(({ name }) => name));
  const more = Object.keys(row).filter((name) => !names.has(name));
  if (more.length > 0) throw new Error(`there are fields that no one knows: ${more.join(', ')}`);
  return Object.fromEntries(fields.map(({ name, type }) => [name, plain(row[name], type, readJson)]));
};

const same = (value: unknown): unknown => value;

export const byHyparquet: Reader = async (path, fields) => {
  const rows = await parquetReadObjects({ file: await asyncBufferFromFile(path) });
  return rows.map((row) => record(row, fields, same));
};

export async function askDuckdb(sql: string): Promise<Row[]> {
  const instance = await DuckDBInstance.create(':memory:');
  const connection = await instance.connect();
  try {
    return (await connection.runAndReadAll(sql)).getRowObjectsJson();
  } finally {
    connection.closeSync();
    instance.closeSync();
  }
}

export const byDuckdb: Reader = async (path, fields) => {
  const rows = await askDuckdb(`select * from read_parquet('${path}')`);
  return rows.map((row) => record(row, fields, (text) => JSON.parse(String(text))));
};

/** Rows of lines of JSON with null for what is not there, as a file with a schema has them. */
export const withNulls = (rows: readonly Row[], fields: readonly DatasetField[]): Row[] =>
  rows.map((row) => record(row, fields, same));
