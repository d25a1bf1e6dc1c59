import type { ExportFormat } from './export.js';
import { type ColumnKind, EXPORT_COLUMNS } from './export-row.js';
import type { JsonObject } from './json.js';

/** The columns of an export with their types: what the dataset card says, and what files with a schema are made by. */

/** `json`: any JSON value, which files keep as its text. */
export type Scalar = 'string' | 'int64' | 'float64' | 'json';
export type FieldType = Scalar | { readonly list: Scalar | readonly DatasetField[] };

export interface DatasetField {
  readonly name: string;
  readonly type: FieldType;
}

const texts = (...names: readonly string[]): DatasetField[] => names.map((name) => ({ name, type: 'string' }));

const messageFields = (reasoning: string | null): DatasetField[] => [
  ...texts('role', 'content', 'name', 'tool_call_id', ...(reasoning === null ? [] : [reasoning])),
  // Arguments differ from call to call, so that no record has room for all of them.
  { name: 'tool_calls', type: { list: 'json' } },
];

const typeOf: { readonly [K in ColumnKind]: (reasoning: string | null) => FieldType } = {
  text: () => 'string',
  whole: () => 'int64',
  real: () => 'float64',
  json: () => 'json',
  turns: () => ({ list: texts('from', 'value') }),
  messages: (reasoning) => ({ list: messageFields(reasoning) }),
};

/** The columns of a format in their order; `reasoning`: the field of what the model thought. */
export const datasetFields = (format: ExportFormat, reasoning: string | null): readonly DatasetField[] =>
  Object.entries(EXPORT_COLUMNS[format]).map(([name, kind]) => ({ name, type: typeOf[kind](reasoning) }));

/** A field as `dataset_info` of a dataset card writes it, in YAML. */
export function fieldLines({ name, type }: DatasetField, indent: string): string[] {
  const head = `${indent}- name: ${name}`;
  const below = `${indent}  `;
  if (typeof type === 'string') return [head, `${below}dtype: ${type}`];
  if (typeof type.list === 'string') return [head, `${below}list: ${type.list}`];
  return [head, `${below}list:`, ...type.list.flatMap((field) => fieldLines(field, below))];
}

/** Fields as Hugging Face `datasets` writes them into the metadata of a file. */
export const featuresOf = (fields: readonly DatasetField[]): JsonObject =>
  Object.fromEntries(fields.map(({ name, type }) => [name, featureOf(type)]));

function featureOf(type: FieldType): JsonObject {
  if (type === 'json') return { _type: 'Json' };
  if (typeof type === 'string') return { dtype: type, _type: 'Value' };
  return { feature: typeof type.list === 'string' ? featureOf(type.list) : featuresOf(type.list), _type: 'List' };
}
