import { z } from 'zod';
import { seededRandom } from '../../src/core/seeded-random.js';

/** Requests made from the OpenAPI document: most fit it, and some hold what a careless or hostile client sends. */

const xs = (count: number): string => 'x'.repeat(count);
const nested = (depth: number): unknown => JSON.parse('['.repeat(depth) + ']'.repeat(depth));

const ODD: readonly unknown[] = [
  ...[
    '',
    ' ',
    'a\u0000b',
    '\ud800',
    '\u202e\u200b\u2028',
    xs(201),
    xs(30_000),
    '%00',
    '{{a}}',
    '(a+)+$',
    '/a~',
    '$.a[*]',
    '**/*',
  ],
  ...['../../etc/passwd', 'file:///etc/passwd', 'http://127.0.0.1:1/x', 'tool:call:*', '0000-01-01T00:00:00Z'],
  ...['2026-02-30T00:00:00Z', '9999-12-31T23:59:59.999-14:00', '-271821-04-20T00:00:00Z'],
  ...[1e308, -1, 0, 0.5, 2 ** 53, 2 ** 31, -(2 ** 31) - 1, null, true, [], {}],
  ...[nested(300), Array.from({ length: 3000 }, (_, n) => n)],
  JSON.parse('{"__proto__": {"a": 1}, "constructor": 1, "toString": 2}'),
  Object.fromEntries(Array.from({ length: 500 }, (_, n) => [`k${n}`, n])),
];
const WORDS = [
  'a',
  'echo',
  'payer',
  'wires',
  'go',
  'x y',
  'pay',
  'user:ann',
  '1',
  '1.0.0',
  'text/plain',
  '/a',
  '/x/*',
  'true',
];
const TIMES = ['2026-01-01T00:00:00Z', '2030-01-01T00:00:00.000Z', '2026-06-01T02:00:00+02:00'];

interface Schema {
  readonly $ref?: string;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
  readonly type?: string | readonly string[];
  readonly format?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly items?: Schema;
  readonly properties?: { readonly [name: string]: Schema };
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | Schema;
}

interface Parameter {
  readonly $ref?: string;
  readonly in: string;
  readonly name: string;
  readonly required?: boolean;
  readonly schema?: Schema;
}

interface Operation {
  readonly operationId: string;
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly content: { readonly [type: string]: { readonly schema: Schema } } };
}

const METHODS = ['get', 'post', 'put', 'patch', 'delete'] as const;
type PathItem = { readonly [method in (typeof METHODS)[number]]?: Operation } & {
  readonly parameters?: readonly Parameter[];
};

const document = z.looseObject({
  paths: z.record(
    z.string(),
    z.custom<PathItem>(() => true),
  ),
});

export interface GeneratedRequest {
  readonly operation: string;
  readonly method: string;
  readonly path: string;
  readonly body: unknown;
}

/** Ids and names of what there is, by the part of a path that names them. */
export type Known = { readonly [part: string]: readonly string[] };

const DEPTH_MAX = 9;

/** Makes requests, the same ones for a seed. */
export class RequestGenerator {
  readonly #document: z.infer<typeof document>;
  readonly #operations: readonly {
    readonly method: string;
    readonly path: string;
    readonly operation: Operation;
    readonly item: PathItem;
  }[];
  readonly #random: () => number;

  constructor(openApi: unknown, seed: string, without: RegExp) {
    this.#document = document.parse(openApi);
    this.#random = seededRandom(seed);
    this.#operations = Object.entries(this.#document.paths).flatMap(([path, item]) =>
      METHODS.flatMap((method) => {
        const operation = item[method];
        return operation === undefined || without.test(operation.operationId)
          ? []
          : [{ method, path, operation, item }];
      }),
    );
  }

  get operations(): number {
    return this.#operations.length;
  }

  next(known: Known): GeneratedRequest {
    const { method, path, operation, item } = this.#oneOf(this.#operations);
    const all = Object.values(known).flat();
    const named = path.replaceAll(/\{\w+\}/g, (_, at: number) => {
      const part = path.slice(0, at).split('/').at(-2) ?? '';
      const chance = this.#random();
      const id = chance < 0.8 ? this.#oneOf(known[part] ?? all) : chance < 0.95 ? this.#oneOf(all) : this.#text();
      return encodeURIComponent(id.slice(0, 300));
    });
    const asked = [...(item.parameters ?? []), ...(operation.parameters ?? [])]
      .map((parameter) => this.#resolved(parameter))
      .filter(
        ({ in: where, name, required }) =>
          where === 'query' && name !== 'wait' && this.#random() < (required ? 0.95 : 0.2),
      )
      .map(({ name, schema }) => `${encodeURIComponent(name)}=${encodeURIComponent(this.#inQuery(schema ?? {}, all))}`);
    const schema = operation.requestBody?.content['application/json']?.schema;
    return {
      operation: operation.operationId,
      method: method.toUpperCase(),
      path: asked.length === 0 ? named : `${named}?${asked.join('&')}`,
      body: schema === undefined ? undefined : this.#value(schema, all, 0),
    };
  }

  #oneOf<T>(values: readonly T[]): T {
    return values[Math.floor(this.#random() * values.length)] as T;
  }

  #text(): string {
    // A half of a pair of surrogates has no place in an address.
    return String(JSON.stringify(this.#oneOf(ODD)))
      .replace(/[\ud800-\udfff]/g, '?')
      .slice(0, 3000);
  }

  #inQuery(schema: Schema, all: readonly string[]): string {
    const value = this.#random() < 0.3 && all.length > 0 ? this.#oneOf(all) : this.#value(schema, all, 2);
    const text = typeof value === 'string' ? value : String(JSON.stringify(value));
    return text.replace(/[\ud800-\udfff]/g, '?').slice(0, 3000);
  }

  #resolved<T extends { readonly $ref?: string }>(value: T): T {
    if (value.$ref === undefined) return value;
    const steps = value.$ref.split('/').slice(1);
    return steps.reduce<unknown>((at, step) => (at as { readonly [key: string]: unknown })[step], this.#document) as T;
  }

  #value(given: Schema, all: readonly string[], depth: number): unknown {
    const schema = this.#resolved(given);
    if (this.#random() < 0.03) return this.#oneOf(ODD);
    if (depth > DEPTH_MAX) return null;
    if (schema.const !== undefined) return schema.const;
    if (schema.enum !== undefined) return this.#oneOf(schema.enum);
    const branches = schema.anyOf ?? schema.oneOf;
    if (branches !== undefined) return this.#value(this.#oneOf(branches), all, depth + 1);
    if (schema.allOf !== undefined)
      return Object.assign({}, ...schema.allOf.map((part) => this.#value(part, all, depth + 1)));
    const type = typeof schema.type === 'string' ? schema.type : this.#oneOf(schema.type ?? ['']);
    switch (type) {
      case 'null':
        return null;
      case 'boolean':
        return this.#random() < 0.5;
      case 'integer':
      case 'number':
        return this.#number(schema, type);
      case 'string':
        return this.#string(schema, all);
      case 'array': {
        const count = Math.max(schema.minItems ?? 0, Math.min(schema.maxItems ?? 4, Math.floor(this.#random() * 4)));
        return Array.from({ length: count }, () => this.#value(schema.items ?? {}, all, depth + 1));
      }
      case 'object':
        return this.#object(schema, all, depth);
      default:
        return this.#oneOf(ODD);
    }
  }

  #number({ minimum = -5, maximum = 50 }: Schema, type: string): number {
    const within = minimum + Math.min(maximum - minimum, 10) * this.#random();
    const value = this.#oneOf([minimum, maximum, within, 1]);
    return type === 'integer' ? Math.round(value) : value;
  }

  #string({ format, minLength = 0 }: Schema, all: readonly string[]): string {
    if (format === 'date-time') return this.#oneOf(TIMES);
    if (minLength > 1) return 'q'.repeat(minLength);
    return this.#random() < 0.3 && all.length > 0 ? this.#oneOf(all) : this.#oneOf(WORDS);
  }

  #object(
    { properties = {}, required = [], additionalProperties: more }: Schema,
    all: readonly string[],
    depth: number,
  ) {
    const made = Object.entries(properties)
      .filter(([name]) => this.#random() < (required.includes(name) ? 0.97 : 0.35))
      .map(([name, schema]) => [name, this.#value(schema, all, depth + 1)]);
    if (more !== undefined && more !== false)
      made.push([this.#oneOf(WORDS), this.#value(more === true ? {} : more, all, depth + 1)]);
    return Object.fromEntries(made);
  }
}
