import { exactText, isExact, parseExact } from '../text/exact.js';

/** Arguments as fields of a form, by the JSON schema of their tool. */

export type FieldKind = 'text' | 'number' | 'boolean' | 'choice' | 'json';

export interface EditField {
  readonly name: string;
  readonly kind: FieldKind;
  readonly about: string;
  readonly choices: readonly string[];
  /** Whether it was there. What was not there and stays empty is left out. */
  readonly given: boolean;
  readonly value: unknown;
}

interface Schema {
  readonly type?: unknown;
  readonly enum?: unknown;
  readonly properties?: unknown;
  readonly description?: unknown;
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !isExact(value);

const schemaIn = (value: unknown): Schema => (isRecord(value) ? value : {});

/** The kind of field that holds a value of a schema, if it also holds the value that is there. */
function kindOf(schema: Schema, value: unknown, given: boolean): FieldKind {
  const { type } = schema;
  const texts = Array.isArray(schema.enum) && schema.enum.every((one) => typeof one === 'string');
  const isText = !given || typeof value === 'string';
  if (texts && isText) return 'choice';
  if (type === 'string' && isText) return 'text';
  if ((type === 'number' || type === 'integer') && (!given || typeof value === 'number' || isExact(value)))
    return 'number';
  if (type === 'boolean' && given && typeof value === 'boolean') return 'boolean';
  return 'json';
}

/** The fields of arguments; null: their schema is not one of an object, and they are edited as JSON. */
export function fieldsOf(schema: unknown, args: unknown): readonly EditField[] | null {
  const { type, properties } = schemaIn(schema);
  if (type !== 'object' || !isRecord(properties) || !isRecord(args)) return null;
  const names = [...new Set([...Object.keys(args), ...Object.keys(properties)])];
  if (names.length === 0) return null;
  return names.map((name) => {
    const own = schemaIn(Object.hasOwn(properties, name) ? properties[name] : undefined);
    const given = Object.hasOwn(args, name);
    const value = given ? args[name] : undefined;
    const kind = kindOf(own, value, given);
    const choices = kind === 'choice' && Array.isArray(own.enum) ? own.enum.map(String) : [];
    const about = typeof own.description === 'string' ? own.description : '';
    return { name, kind, about, choices, given, value };
  });
}

/** What a field shows at first. */
export function firstText({ kind, given, value }: EditField): string {
  if (!given) return '';
  return kind === 'text' || kind === 'choice' ? String(value) : exactText(value, 2);
}

/** What a field says now. Undefined: it is left out. Throws where its text is no JSON. */
function valueIn({ name, kind, given }: EditField, text: string | null): unknown {
  if (kind === 'boolean') return text !== null;
  if (text === null || (text === '' && !given)) return undefined;
  if (kind === 'text' || kind === 'choice') return text;
  try {
    return parseExact(text);
  } catch {
    throw new Error(`${name}: ${JSON.stringify(text.slice(0, 100))} is no ${kind === 'number' ? 'number' : 'JSON'}.`);
  }
}

/** The arguments that a form says, in the order of its fields. `textOf`: null for a box that is not ticked. */
export function argumentsIn(fields: readonly EditField[], textOf: (at: number) => string | null): object {
  const entries = fields.map((field, at) => [field.name, valueIn(field, textOf(at))] as const);
  const kept = entries.filter(([, value]) => value !== undefined);
  // A key named __proto__ stays a key.
  return Object.fromEntries(kept);
}

interface Fault {
  /** `/arguments/order`, or `/arguments` where the text alone says where: `… → at order`. */
  readonly pointer: string;
  readonly detail: string;
}

/** What is wrong with one argument, or with something in it. */
export function faultIn(faults: readonly Fault[], name: string): string | null {
  const at = `/arguments/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`;
  const own = faults.find(({ pointer }) => pointer === at || pointer.startsWith(`${at}/`));
  if (own !== undefined) return own.detail;
  const told = faults.find(
    ({ pointer, detail }) =>
      pointer === '/arguments' && new RegExp(`\\bat ${name.replaceAll(/[^\w]/g, '\\$&')}(?![\\w-])`).test(detail),
  );
  return told?.detail ?? null;
}
