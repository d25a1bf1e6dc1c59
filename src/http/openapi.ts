import { createDocument, type ZodOpenApiOperationObject, type ZodOpenApiOverride } from 'zod-openapi';
import { ERRORS, type ErrorCode } from '../core/errors/errors.js';
import { problem } from '../core/errors/problem.js';
import { NO_INPUT } from '../core/operations/operation.js';
import { PROBLEM_TYPE } from './problem.js';
import { type Route, roleText } from './route.js';
import { LINES_TYPE } from './wire/lines.js';

/** What every route with a token may answer, whatever its verb. */
const COMMON: readonly ErrorCode[] = [
  'unauthenticated',
  'forbidden',
  'cross_site',
  'rate_limited',
  'invalid_request',
  'payload_too_large',
  'engine_not_running',
  'database_unreachable',
  'database_full',
  'database_read_only',
  'database_busy',
  'row_changed',
  'internal',
];
const WITH_BODY: readonly ErrorCode[] = ['malformed_json', 'unsupported_media_type', 'body_too_large'];

/** Every error that a route may answer with. */
export function errorsOf(route: Route): readonly ErrorCode[] {
  const guard = route.access === 'open' ? ['internal' as const] : COMMON;
  return [
    ...new Set(['host_refused' as const, ...guard, ...(route.method === 'POST' ? WITH_BODY : []), ...route.errors]),
  ];
}

function problemsOf(route: Route): ZodOpenApiOperationObject['responses'] {
  const codes = errorsOf(route);
  return Object.fromEntries(
    codes.map((code) => [
      String(ERRORS[code].status),
      {
        description: codes.filter((other) => ERRORS[other].status === ERRORS[code].status).join(', '),
        content: { [PROBLEM_TYPE]: { schema: problem } },
      },
    ]),
  );
}

function bodyOf({ body, takes }: Route): Pick<ZodOpenApiOperationObject, 'requestBody'> {
  if (body === NO_INPUT.body) return {};
  const required = !body.safeParse({}).success;
  return {
    requestBody: { required, content: { [takes === 'lines' ? LINES_TYPE : 'application/json']: { schema: body } } },
  };
}

function operationOf(route: Route): ZodOpenApiOperationObject {
  const { operationId, summary, description, access, streams } = route;
  const stream = streams === undefined ? {} : { [streams]: { schema: { type: 'string' as const } } };
  return {
    operationId,
    summary,
    ...(description === undefined ? {} : { description }),
    ...(access === 'open' ? { security: [] } : { 'x-role': roleText(route) }),
    requestParams: { path: route.pathParams, query: route.query, header: route.header },
    ...bodyOf(route),
    responses: {
      ...problemsOf(route),
      [route.status ?? 200]: {
        description: 'Done.',
        content: { [route.media ?? 'application/json']: { schema: route.response }, ...stream },
      },
    },
  };
}

/** Says what a client needs: answers may get more fields in later versions, and any JSON value is the empty schema. */
const override: ZodOpenApiOverride = ({ zodSchema, jsonSchema, io }) => {
  const { type } = zodSchema._zod.def;
  if (type === 'object' && io === 'output') delete jsonSchema.additionalProperties;
  if (type === 'record') delete jsonSchema.propertyNames;
  if (jsonSchema.format === 'date-time') delete jsonSchema.pattern;
  if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
  if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
};

/** The OpenAPI 3.1 document of the routes, made from the schemas that parse their input. */
export function openApiDocument(routes: readonly Route[]): unknown {
  const operationsAt = (path: string) =>
    routes
      .filter((route) => route.path === path)
      .map((route) => [route.method.toLowerCase(), operationOf(route)] as const);
  return createDocument(
    {
      openapi: '3.1.1',
      info: {
        title: 'Holdfast',
        version: '1',
        description: 'Durable runs of AI agents: start them, follow them, decide what they wait for.',
      },
      security: [{ token: [] }],
      components: { securitySchemes: { token: { type: 'http', scheme: 'bearer' } } },
      paths: Object.fromEntries(routes.map(({ path }) => [path, Object.fromEntries(operationsAt(path))])),
    },
    { override, allowEmptySchema: { custom: true } },
  );
}
