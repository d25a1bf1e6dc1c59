import type { JsonObject } from '../json.js';
import type { ExportFormat, ExportOptions } from './export.js';
import { type ColumnKind, exportColumns } from './export-row.js';

/** The columns of an export with their types: what the dataset card says, and what files with a schema are made by. */

/** `json`: any JSON value, which files keep as its text. */
export type Scalar = 'string' | 'int64' | 'float64' | 'json' | 'bytes';
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

/** The contents in parts, with `text` null where an image is. */
const partFields = (reasoning: string | null): DatasetField[] =>
  messageFields(reasoning).map((field) =>
    field.name === 'content' ? { name: 'content', type: { list: texts('type', 'text') } } : field,
  );

/** As Hugging Face `datasets` keeps an image. */
const IMAGE_FIELDS: readonly DatasetField[] = [{ name: 'bytes', type: 'bytes' }, ...texts('path')];

const typeOf: { readonly [K in ColumnKind]: (reasoning: string | null) => FieldType } = {
  text: () => 'string',
  whole: () => 'int64',
  real: () => 'float64',
  json: () => 'json',
  turns: () => ({ list: texts('from', 'value') }),
  messages: (reasoning) => ({ list: messageFields(reasoning) }),
  parts: (reasoning) => ({ list: partFields(reasoning) }),
  images: () => ({ list: IMAGE_FIELDS }),
};

/** The columns of an export in their order. */
export const datasetFields = (
  format: ExportFormat,
  options: Pick<ExportOptions, 'reasoningKey' | 'media'>,
): readonly DatasetField[] =>
  Object.entries(exportColumns(format, options)).map(([name, kind]) => ({
    name,
    type: typeOf[kind](options.reasoningKey),
  }));

/** A field as `dataset_info` of a dataset card writes it, in YAML. */
export function fieldLines({ name, type }: DatasetField, indent: string): string[] {
  const head = `${indent}- name: ${name}`;
  const below = `${indent}  `;
  if (isImages(type)) return [head, `${below}list: image`];
  if (typeof type === 'string') return [head, `${below}dtype: ${type}`];
  if (typeof type.list === 'string') return [head, `${below}list: ${type.list}`];
  return [head, `${below}list:`, ...type.list.flatMap((field) => fieldLines(field, below))];
}

/** Fields as Hugging Face `datasets` writes them into the metadata of a file. */
export const featuresOf = (fields: readonly DatasetField[]): JsonObject =>
  Object.fromEntries(fields.map(({ name, type }) => [name, featureOf(type)]));

const isImages = (type: FieldType): boolean => typeof type === 'object' && type.list === IMAGE_FIELDS;

function featureOf(type: FieldType): JsonObject {
  if (isImages(type)) return { feature: { _type: 'Image' }, _type: 'List' };
  if (type === 'json') return { _type: 'Json' };
  if (typeof type === 'string') return { dtype: type, _type: 'Value' };
  return { feature: typeof type.list === 'string' ? featureOf(type.list) : featuresOf(type.list), _type: 'List' };
}
