import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { ERRORS } from '../../src/core/errors/errors.js';
import { errorsOf, openApiDocument } from '../../src/http/openapi.js';
import { leastRole, roleText } from '../../src/http/route.js';
import { GUARDED_ROUTES, ROUTES } from '../../src/http/routes.js';

const operation = z.looseObject({
  operationId: z.string(),
  summary: z.string(),
  security: z.array(z.unknown()).optional(),
  parameters: z.array(z.looseObject({ name: z.string(), in: z.string(), required: z.boolean().optional() })).optional(),
  requestBody: z.object({ required: z.boolean(), content: z.record(z.string(), z.unknown()) }).optional(),
  responses: z.record(z.string(), z.looseObject({ description: z.string() })),
});
const documentShape = z.looseObject({
  openapi: z.literal('3.1.1'),
  paths: z.record(z.string(), z.record(z.string(), operation)),
  components: z.looseObject({ schemas: z.record(z.string(), z.looseObject({})) }),
});
const document = documentShape.parse(openApiDocument(ROUTES));

const name = ({ method, path }: { readonly method: string; readonly path: string }): string => `${method} ${path}`;
const described = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, it]) => ({ name: `${method.toUpperCase()} ${path}`, it })),
);

test('the document describes every route and no other', () => {
  expect(described.map((one) => one.name).toSorted()).toEqual(ROUTES.map(name).toSorted());
});

test('no two operations share a name, and only probes and sign-ins need no token', () => {
  const ids = described.map(({ it }) => it.operationId);
  expect(new Set(ids).size).toBe(ids.length);
  expect(described.filter(({ it }) => it.security?.length === 0).map((one) => one.name)).toEqual([
    'POST /api/v1/sign-ins',
    'POST /api/v1/sign-ins/codes',
    'GET /api/v1/sign-ins/current',
    'DELETE /api/v1/sign-ins/current',
    'GET /livez',
    'GET /readyz',
  ]);
  const reads = GUARDED_ROUTES.filter((route) => route.method === 'GET' && leastRole(route) !== 'viewer');
  // A definition has hidden tests and the solution; who read what is for those who answer for it.
  expect(reads.map(name)).toEqual([
    'GET /api/v1/task-definitions/{name}/{version}',
    'GET /api/v1/task-definitions/{name}/{version}/diff/{other}',
    'GET /api/v1/access',
    'GET /api/v1/runs/{id}/access',
  ]);
});

test('every parameter of a path is described, and every error that a route may answer', () => {
  for (const route of ROUTES) {
    const it = described.find((one) => one.name === name(route))?.it;
    const inPath =
      it?.parameters?.filter((parameter) => parameter.in === 'path').map((parameter) => parameter.name) ?? [];
    expect(inPath).toEqual([...route.path.matchAll(/\{(\w+)\}/g)].map(([, parameter]) => parameter));
    for (const code of errorsOf(route)) expect(it?.responses[ERRORS[code].status]?.description).toContain(code);
  }
});

test('every reference leads to a schema, and every schema is referred to', () => {
  const text = JSON.stringify(document);
  const references = new Set([...text.matchAll(/"#\/components\/schemas\/(\w+)"/g)].map(([, schema]) => schema));
  expect([...references].toSorted()).toEqual(Object.keys(document.components.schemas).toSorted());
  expect(text).not.toContain('__schema');
  expect(document.components.schemas['JsonValue']).toEqual({});
});

test('answers may get more fields, requests may not have any', () => {
  const { schemas } = document.components;
  expect(schemas['Run']).not.toHaveProperty('additionalProperties');
  expect(schemas['StartRun']).toMatchObject({ additionalProperties: false, required: ['agent', 'input'] });
});

test('docs/http.md lists every route, with its role and what it does, and no other', () => {
  const page = readFileSync('docs/http.md', 'utf8');
  const rows = [...page.matchAll(/^\| `((?:GET|POST|DELETE) [^`]+)` +\| ([\w ]+?) +\| (.+?) +\|$/gm)].map(
    ([, route, role, summary]) => [route, role, summary],
  );
  expect(rows).toEqual(ROUTES.map((route) => [name(route), roleText(route), route.summary]));
  const known = new Set(ROUTES.map(name));
  for (const [, mentioned] of page.matchAll(/`((?:GET|POST|DELETE) \/[^`\s]*)`/g)) expect(known).toContain(mentioned);
});
