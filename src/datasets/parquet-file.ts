import type { SchemaElement } from 'hyparquet-writer';
import { type DatasetField, type FieldType, featuresOf, type Scalar } from '../core/exports/dataset-field.js';
import type { JsonObject, JsonValue } from '../core/json.js';
import { Growing, type Naming, type PartFile } from './part-file.js';

type ScalarElement = Pick<SchemaElement, 'type' | 'converted_type' | 'logical_type'>;

/** Older readers know `converted_type` alone. */
const SCALARS: { readonly [S in Scalar]: ScalarElement } = {
  string: { type: 'BYTE_ARRAY', converted_type: 'UTF8', logical_type: { type: 'STRING' } },
  json: { type: 'BYTE_ARRAY', converted_type: 'JSON', logical_type: { type: 'JSON' } },
  bytes: { type: 'BYTE_ARRAY' },
  int64: { type: 'INT64' },
  float64: { type: 'DOUBLE' },
};

function elementsOf(name: string, type: FieldType): SchemaElement[] {
  // Nothing is required: `datasets` knows no such fields.
  const optional = { name, repetition_type: 'OPTIONAL' } as const;
  if (typeof type === 'string') return [{ ...optional, ...SCALARS[type] }];
  const { list } = type;
  return [
    { ...optional, converted_type: 'LIST', logical_type: { type: 'LIST' }, num_children: 1 },
    { name: 'list', repetition_type: 'REPEATED', num_children: 1 },
    ...(typeof list === 'string' ? elementsOf('element', list) : recordOf('element', list)),
  ];
}

const recordOf = (name: string, fields: readonly DatasetField[]): SchemaElement[] => [
  { name, repetition_type: 'OPTIONAL', num_children: fields.length },
  ...fields.flatMap((field) => elementsOf(field.name, field.type)),
];

/** The schema of a Parquet file with these columns. */
const parquetSchema = (fields: readonly DatasetField[]): SchemaElement[] => [
  { name: 'schema', num_children: fields.length },
  ...fields.flatMap(({ name, type }) => elementsOf(name, type)),
];

/**
 * The same schema for the writer, which would copy a JSON value and write it as it sees fit: what is JSON text already goes
 * through it as bytes.
 */
const withJsonAsBytes = (schema: readonly SchemaElement[]): SchemaElement[] =>
  schema.map((element) => {
    if (element.converted_type !== 'JSON') return element;
    const { converted_type: _, ...bytes } = element;
    return bytes;
  });

/** A row group is written when it has so many rows, or so many characters: more is not held in memory. */
const GROUP_ROWS = 1000;
const GROUP_CHARS = 8 * 1024 * 1024;

/** Rows as Parquet: records and lists have columns of their own, and what is `json` is its text with the type JSON. */
export async function parquetFile(
  path: string,
  fields: readonly DatasetField[],
  naming: Naming = { digested: false },
): Promise<PartFile> {
  // Most processes never write one.
  const { ByteWriter, ParquetWriter } = await import('hyparquet-writer');
  const growing = new Growing(path, naming);
  const buffer = new ByteWriter();
  const schema = parquetSchema(fields);
  const writer = new ParquetWriter({
    writer: buffer,
    schema: withJsonAsBytes(schema),
    kvMetadata: [{ key: 'huggingface', value: JSON.stringify({ info: { features: featuresOf(fields) } }) }],
    createdBy: 'holdfast',
  });
  const columns = fields.map(({ name, type }) => ({ name, type, data: [] as Cell[], isFlat: isFlat(type) }));
  let group = { rows: 0, chars: 0 };
  let rows = 0;

  /** What is in the buffer is of places before those that follow: `offset` of the writer counts on. */
  const drain = async (): Promise<void> => {
    await growing.append(buffer.getBytes());
    buffer.index = 0;
  };
  const flush = async (): Promise<void> => {
    if (group.rows === 0) return;
    await writer.write({
      // Bounds of long texts are of no use, and stand in the footer whole.
      columnData: columns.map(({ name, data, isFlat: statistics }) => ({ name, data, statistics })),
      rowGroupSize: group.rows,
    });
    for (const column of columns) column.data = [];
    group = { rows: 0, chars: 0 };
    await drain();
  };

  return {
    write: async (more) => {
      let chars = 0;
      for (const row of more) {
        const size = { chars: 0 };
        for (const { name, type, data } of columns) data.push(cellOf(row[name], type, name, size));
        chars += size.chars;
        group = { rows: group.rows + 1, chars: group.chars + size.chars };
        rows += 1;
        if (group.rows >= GROUP_ROWS || group.chars >= GROUP_CHARS) await flush();
      }
      return chars;
    },
    end: async () => {
      if (rows === 0) return null;
      await flush();
      writer.schema = schema;
      await writer.finish();
      await drain();
      return { rows, ...(await growing.end()) };
    },
    abandon: () => growing.abandon(),
  };
}

const isFlat = (type: FieldType): boolean => typeof type === 'string' && type !== 'json';

type Cell = null | string | number | bigint | Uint8Array | readonly Cell[] | { readonly [field: string]: Cell };

/** A value as the writer takes it; what is not there is null. Adds its characters to `size`. */
function cellOf(value: JsonValue | undefined, type: FieldType, name: string, size: { chars: number }): Cell {
  if (value === null || value === undefined) return null;
  if (type === 'json' || (type === 'string' && typeof value === 'string')) {
    const text = type === 'json' ? JSON.stringify(value) : String(value);
    size.chars += text.length;
    return text;
  }
  if (type === 'bytes' && typeof value === 'string') {
    size.chars += value.length;
    return Buffer.from(value, 'base64');
  }
  if (type === 'float64' && typeof value === 'number') return value;
  if (type === 'int64' && Number.isSafeInteger(value)) return BigInt(Number(value));
  if (typeof type === 'string' || !Array.isArray(value))
    throw new Error(`The column ${name} has a value of another type.`);
  const { list } = type;
  return value.map((item: JsonValue): Cell => {
    if (typeof list === 'string') return cellOf(item, list, name, size);
    if (typeof item !== 'object' || item === null || Array.isArray(item))
      throw new Error(`The column ${name} has an item of another type.`);
    const record = item as JsonObject;
    return Object.fromEntries(list.map((field) => [field.name, cellOf(record[field.name], field.type, name, size)]));
  });
}
