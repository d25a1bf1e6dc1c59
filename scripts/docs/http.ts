import { z } from 'zod';
import { errorsOf, openApiDocument } from '../../src/http/openapi.js';
import { type Route, roleText } from '../../src/http/route.js';
import { ROUTES } from '../../src/http/routes.js';
import { code, table, wrapped } from './markdown.js';

/** A JSON schema, as far as this reference reads it. */
const shape = z.looseObject({
  $ref: z.string().optional(),
  type: z.union([z.string(), z.array(z.string())]).optional(),
  description: z.string().optional(),
  enum: z.array(z.unknown()).optional(),
  const: z.unknown().optional(),
  default: z.unknown().optional(),
  format: z.string().optional(),
  required: z.array(z.string()).optional(),
  minimum: z.number().optional(),
  maximum: z.number().optional(),
  get items() {
    return shape.optional();
  },
  get anyOf() {
    return z.array(shape).optional();
  },
  get oneOf() {
    return z.array(shape).optional();
  },
  get properties() {
    return z.record(z.string(), shape).optional();
  },
});
type Schema = z.infer<typeof shape>;

const content = z.record(z.string(), z.looseObject({ schema: shape }));
const operationShape = z.looseObject({
  parameters: z
    .array(z.looseObject({ name: z.string(), in: z.string(), required: z.boolean().optional(), schema: shape }))
    .default([]),
  requestBody: z.looseObject({ content }).optional(),
  responses: z.record(z.string(), z.looseObject({ content: content.optional() })),
});
const documentShape = z.looseObject({
  paths: z.record(z.string(), z.record(z.string(), operationShape)),
  components: z.looseObject({ schemas: z.record(z.string(), shape) }),
});
type Document = z.infer<typeof documentShape>;
type Described = z.infer<typeof operationShape>;

let read: Document | undefined;
const document = (): Document => (read ??= documentShape.parse(openApiDocument(ROUTES)));

const nameOf = ({ method, path }: Pick<Route, 'method' | 'path'>): string => `${method} ${path}`;

function described(route: Route): Described {
  const operation = document().paths[route.path]?.[route.method.toLowerCase()];
  if (operation === undefined) throw new Error(`The OpenAPI document has no ${nameOf(route)}.`);
  return operation;
}

const nameIn = (reference: string): string => reference.slice(reference.lastIndexOf('/') + 1);
/** As code hosts make the anchor of a heading. */
const linkTo = (name: string): string => (name === 'JsonValue' ? 'any JSON' : `[${name}](#${name.toLowerCase()})`);

const rangeOf = ({ minimum, maximum }: Schema): string => {
  if (minimum !== undefined && maximum !== undefined) return ` ${minimum} to ${maximum}`;
  if (minimum !== undefined) return ` from ${minimum}`;
  return maximum === undefined ? '' : ` up to ${maximum}`;
};

function plainType(schema: Schema): string {
  const types = [schema.type ?? []].flat();
  if (types.length === 0) return 'any JSON';
  return types
    .map((type) => {
      if (type === 'array') return schema.items === undefined ? 'array' : `array of ${typeOf(schema.items)}`;
      if (type === 'object' && schema.properties !== undefined) {
        return `object (${Object.keys(schema.properties).map(code).join(', ')})`;
      }
      if (type === 'string' && schema.format === 'date-time') return 'time';
      return type === 'integer' || type === 'number' ? `${type}${rangeOf(schema)}` : type;
    })
    .join(' or ');
}

function typeOf(schema: Schema): string {
  if (schema.$ref !== undefined) return linkTo(nameIn(schema.$ref));
  if (schema.const !== undefined) return code(JSON.stringify(schema.const));
  if (schema.enum !== undefined) return schema.enum.map((value) => code(JSON.stringify(value))).join(', ');
  const choices = schema.anyOf ?? schema.oneOf;
  return choices === undefined ? plainType(schema) : [...new Set(choices.map(typeOf))].join(' or ');
}

const defaultOf = (schema: Schema): string[] =>
  schema.default === undefined ? [] : [`Default ${code(JSON.stringify(schema.default))}.`];

/** The meaning of a field, with its default. */
const meaningOf = (schema: Schema): string => [...[schema.description ?? []].flat(), ...defaultOf(schema)].join(' ');

/** The fields of a body are those of its schema, which a reference may name. */
function fieldsOf(schema: Schema): Schema {
  if (schema.$ref === undefined) return schema;
  const found = document().components.schemas[nameIn(schema.$ref)];
  if (found === undefined) throw new Error(`The OpenAPI document has no schema "${schema.$ref}".`);
  return found;
}

/** A field that a request has to have is marked with an asterisk. */
const marked = (name: string, required: boolean): string => `${code(name)}${required ? ' *' : ''}`;

function inputTable({ parameters, requestBody }: Described): string[] {
  const outside = parameters.map((parameter) => [
    parameter.in,
    marked(parameter.name, parameter.required === true && parameter.in !== 'path'),
    typeOf(parameter.schema),
    meaningOf(parameter.schema),
  ]);
  const body = Object.values(requestBody?.content ?? {}).flatMap(({ schema }) => {
    const { properties = {}, required = [] } = fieldsOf(schema);
    return Object.entries(properties).map(([name, field]) => [
      'body',
      marked(name, required.includes(name)),
      typeOf(field),
      meaningOf(field),
    ]);
  });
  const rows = [...outside, ...body];
  return rows.length === 0 ? [] : [table(['In', 'Name', 'Type', 'Meaning'], rows)];
}

/** `listRuns` and its like answer a page of items. */
function answerOf(schema: Schema): string {
  const { items, nextCursor } = schema.properties ?? {};
  if (items?.items !== undefined && nextCursor !== undefined) return `a page of ${typeOf(items.items)}`;
  return typeOf(schema);
}

function answers(route: Route): string {
  const status = String(route.status ?? 200);
  const media = Object.entries(described(route).responses[status]?.content ?? {});
  const given = media.map(([type, { schema }]) =>
    type === 'application/json'
      ? answerOf(schema)
      : `${code(type)}${schema.$ref === undefined ? '' : ` of ${typeOf(schema)}`}`,
  );
  return `Answers ${status}: ${given.join(', or ')}.`;
}

const guarded = ROUTES.filter(({ access }) => access !== 'open');
const inEach = (routes: readonly Route[]): readonly string[] => {
  const [first, ...others] = routes.map((route) => new Set<string>(errorsOf(route)));
  return [...(first ?? [])].filter((error) => others.every((errors) => errors.has(error)));
};

const errorsText = (errors: readonly string[]): string => errors.map(code).join(', ');

function operationText(route: Route): string {
  const operation = described(route);
  const access = route.access === 'open' ? 'Needs no token.' : `Role: ${roleText(route)}.`;
  const notes = [access, ...(route.audited === true ? ['Audited.'] : []), answers(route)];
  return [
    `#### ${route.operationId}`,
    `${code(nameOf(route))}: ${route.summary}`,
    ...(route.description === undefined ? [] : [wrapped(route.description)]),
    wrapped(notes.join(' ')),
    ...inputTable(operation),
    ...(route.errors.length === 0 ? [] : [wrapped(`Errors: ${errorsText(route.errors)}.`)]),
  ].join('\n\n');
}

function schemaText([name, schema]: readonly [string, Schema]): string {
  const { properties, required = [] } = schema;
  const rows = Object.entries(properties ?? {}).map(([field, type]) => [
    marked(field, required.includes(field)),
    typeOf(type),
    meaningOf(type),
  ]);
  return [
    `#### ${name}`,
    ...(schema.description === undefined ? [] : [wrapped(schema.description)]),
    properties === undefined ? wrapped(`${typeOf(schema)}.`) : table(['Name', 'Type', 'Meaning'], rows),
  ].join('\n\n');
}

/** Bodies of requests stand with their operation. */
function answered(): [string, Schema][] {
  const bodies = new Set(
    ROUTES.flatMap((route) => Object.values(described(route).requestBody?.content ?? {})).map(({ schema }) =>
      nameIn(schema.$ref ?? ''),
    ),
  );
  return Object.entries(document().components.schemas)
    .filter(([name]) => name !== 'JsonValue' && !bodies.has(name))
    .toSorted(([a], [b]) => a.localeCompare(b));
}

export const HTTP_BLOCKS = {
  'http-audited': () =>
    ROUTES.filter(({ audited }) => audited === true)
      .map((route) => wrapped(`- ${code(nameOf(route))}: ${route.summary}`, '  '))
      .join('\n'),
  'http-routes': () =>
    table(
      ['Route', 'Role', 'What it does'],
      ROUTES.map((route) => [code(nameOf(route)), roleText(route), route.summary]),
    ),
  'http-operations': () => ROUTES.map(operationText).join('\n\n'),
  'http-errors': () => {
    const every = inEach(guarded);
    const posted = inEach(guarded.filter(({ method }) => method === 'POST'));
    return [
      wrapped(`Every operation with a token may answer ${errorsText(every)}.`),
      wrapped(`A POST may also answer ${errorsText(posted.filter((error) => !every.includes(error)))}.`),
    ].join('\n\n');
  },
  'http-schemas': () => answered().map(schemaText).join('\n\n'),
};
