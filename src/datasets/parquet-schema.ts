import type { SchemaElement } from 'hyparquet-writer';
import type { DatasetField, FieldType, Scalar } from '../core/exports/dataset-field.js';

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
export const parquetSchema = (fields: readonly DatasetField[]): SchemaElement[] => [
  { name: 'schema', num_children: fields.length },
  ...fields.flatMap(({ name, type }) => elementsOf(name, type)),
];

/**
 * The same schema for the writer, which would copy a JSON value and write it as it sees fit: what is JSON text already goes
 * through it as bytes.
 */
export const withJsonAsBytes = (schema: readonly SchemaElement[]): SchemaElement[] =>
  schema.map((element) => {
    if (element.converted_type !== 'JSON') return element;
    const { converted_type: _, ...bytes } = element;
    return bytes;
  });
