import { Agent } from '@openai/agents';
import { expect } from 'vitest';
import { z } from 'zod';
import type { Token } from '../../src/core/access-token.js';
import { isErrorCode } from '../../src/core/errors/errors.js';
import { type Problem, problem } from '../../src/core/errors/problem.js';
import type { EngineLog } from '../../src/core/ops/log-record.js';
import { defineAgent, type HoldfastConfig } from '../../src/engine/agents/define.js';
import { createEngine } from '../../src/engine/create-engine.js';
import type { Engine } from '../../src/engine/engine.js';
import type { EngineConfig } from '../../src/engine/engine-config.js';
import { errorsOf } from '../../src/http/openapi.js';
import { PROBLEM_TYPE } from '../../src/http/problem.js';
import { ROUTES } from '../../src/http/routes.js';
import { createHttpServer, type HttpOptions, type HttpServer } from '../../src/http/server.js';
import { functionModel } from '../../src/models/providers/function-model.js';
import { defineTool } from '../../src/tools/define/define-tool.js';
import { createEngineDatabase, type DatabaseKind, type TestDatabase } from '../harness/database.js';
import { call, say, scripted } from '../harness/script.js';

const pay = defineTool({
  name: 'pay',
  description: 'Pays an amount.',
  input: z.object({ amount: z.number() }),
  output: z.object({ paid: z.number() }),
  approval: 'It costs money.',
  execute: ({ amount }) => ({ paid: amount }),
});

const AGENT_MODELS = {
  echo: scripted([[say('hello')]]),
  slow: functionModel('slow', () => [say('at last')], { delayMs: 60_000 }),
  payer: scripted([[call('pay', { amount: 5 })], [say('done')]]),
};

export const AGENTS = [
  defineAgent({ agent: new Agent({ name: 'echo', model: AGENT_MODELS.echo }) }),
  defineAgent({ agent: new Agent({ name: 'slow', model: AGENT_MODELS.slow }) }),
  defineAgent({
    agent: new Agent({ name: 'payer', model: AGENT_MODELS.payer, tools: [pay] }),
    grants: ['tool:call:pay'],
  }),
  defineAgent({
    agent: new Agent({ name: 'rare', model: AGENT_MODELS.echo }),
    rate: { runs: 1, perMs: 3_600_000 },
  }),
];

const tokenOf = (actor: string, role: Token['role'], tenant = 'default'): Token => ({
  token: `token-of-${actor}-0123456789`,
  actor,
  role,
  tenant,
});

export const TOKENS = {
  vera: tokenOf('vera', 'viewer'),
  otto: tokenOf('otto', 'operator'),
  anna: tokenOf('anna', 'approver'),
  adam: tokenOf('adam', 'admin'),
  /** An admin of another tenant. */
  zoe: tokenOf('zoe', 'admin', 'elsewhere'),
};
export type Actor = keyof typeof TOKENS;
export const isActor = (name: string): name is Actor => Object.hasOwn(TOKENS, name);

export const MAX_BODY_BYTES = 100_000;

export interface Logged {
  readonly level: string;
  readonly fields: object;
  readonly message: string;
}

export interface Door {
  readonly engine: Engine;
  readonly http: HttpServer;
  readonly database: TestDatabase;
  readonly logged: readonly Logged[];
  ask(
    actor: Actor | null,
    method: string,
    path: string,
    body?: unknown,
    headers?: Record<string, string>,
  ): Promise<Answer>;
  close(): Promise<void>;
}

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly json: unknown;
}

export const options = (log: EngineLog, more: Partial<HttpOptions> = {}): HttpOptions => ({
  host: '127.0.0.1',
  port: 0,
  tokens: Object.values(TOKENS),
  tokensConfigured: true,
  maxBodyBytes: MAX_BODY_BYTES,
  log,
  ...more,
});

export function collectingLog(): { readonly log: EngineLog; readonly logged: Logged[] } {
  const logged: Logged[] = [];
  const at = (level: string) => (fields: object, message: string) => logged.push({ level, fields, message });
  return { log: { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }, logged };
}

/** A real engine on a database of a kind, and the HTTP server over it. */
export async function openDoor(
  kind: DatabaseKind,
  agents: HoldfastConfig['agents'] = AGENTS,
  more: Partial<EngineConfig> = {},
  asServer: Partial<HttpOptions> = {},
): Promise<Door> {
  const database = await createEngineDatabase(kind);
  const { log, logged } = collectingLog();
  const engine = await createEngine({ agents, ...more, ...database.options });
  const http = await createHttpServer(engine, options(log, asServer));
  return {
    engine,
    http,
    database,
    logged,
    ask: (actor, method, path, body, headers) => ask(http.url, actor, method, path, body, headers),
    async close() {
      await http.close(0);
      await engine.stop({ graceMs: 0 });
      await database.drop();
    },
  };
}

export const bearer = (actor: Actor): Record<string, string> => ({ Authorization: `Bearer ${TOKENS[actor].token}` });

const asBody = (body: unknown): string => (typeof body === 'string' ? body : JSON.stringify(body));

async function ask(
  url: string,
  actor: Actor | null,
  method: string,
  path: string,
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<Answer> {
  const type: Record<string, string> = body === undefined ? {} : { 'Content-Type': 'application/json' };
  const init = { method, headers: { ...type, ...(actor === null ? {} : bearer(actor)), ...headers } };
  const response = await fetch(`${url}${path}`, body === undefined ? init : { ...init, body: asBody(body) });
  const text = await response.text();
  const json: unknown =
    /[/+]json/.test(response.headers.get('content-type') ?? '') && text !== '' ? JSON.parse(text) : undefined;
  const answer = { status: response.status, headers: response.headers, text, json };
  assertDocumented(method, path, answer);
  return answer;
}

const matches = (template: string, path: string): boolean =>
  new RegExp(`^${template.replaceAll('.', '\\.').replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(path);

/** Every answer of every test is one that the route table promises. */
function assertDocumented(method: string, path: string, { status, headers, json }: Answer): void {
  const [pathname = ''] = path.split('?');
  const route = ROUTES.find((one) => one.method === method && matches(one.path, pathname));
  const type = headers.get('content-type') ?? '';
  if (type.startsWith(PROBLEM_TYPE)) {
    const { code } = problem.strict().parse(json);
    expect(isErrorCode(code)).toBe(true);
    if (route !== undefined) expect(errorsOf(route), `${method} ${path} answers ${code}`).toContain(code);
  } else if (route !== undefined && status < 300 && json !== undefined) {
    expect(status).toBe(route.status ?? 200);
    route.response.parse(json);
  }
}

/** What the statistics say, without the moment at which they were read. */
export async function statsOf({ ask }: Pick<Door, 'ask'>): Promise<unknown> {
  const { json } = await ask('vera', 'GET', '/api/v1/stats');
  return { ...(json as object), at: null };
}

/** Asserts that an answer is the problem of this code, whole and without anything of the inside. */
export function expectProblem(answer: Answer, code: string): Problem {
  const body = problem.strict().parse(answer.json);
  expect(answer.headers.get('content-type')).toBe(`${PROBLEM_TYPE}; charset=utf-8`);
  expect({ code: body.code, status: body.status }).toEqual({ code, status: answer.status });
  expect(body.type).toBe(`/docs/errors#${code}`);
  expect(body.requestId).toBe(answer.headers.get('x-request-id'));
  expect(answer.text).not.toMatch(/node_modules|\.ts:|\.js:|at async/);
  return body;
}
