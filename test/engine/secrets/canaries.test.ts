import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { Agent, setTracingDisabled } from '@openai/agents';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { createHttpServer, type HttpServer } from '../../../src/http/server.js';
import {
  defineAgent,
  type HoldfastConfig,
  MultiModelProvider,
  MultiModelProviderMap,
  OllamaModelProvider,
  openaiCompatible,
  runAgent,
  secret,
} from '../../../src/index.js';
import type { Database } from '../../../src/storage/database/database.js';
import { describeEachDatabaseSlowly } from '../../harness/database.js';
import { ADMIN, openTestEngine, restOf, type TestEngine } from '../../harness/engine.js';
import { bearer, collectingLog, options } from '../../http/door.js';
import type { WireServer } from '../../models/servers/wire-server.js';
import { CANARY, canaryServer, ECHOES } from './canary-server.js';

setTracingDisabled(true);

/** Said by every run: what is searched does hold what runs say. */
const MARKER = 'marker-of-a-run';

const places = [
  'literal',
  'env',
  'file',
  'command',
  'user',
  'header',
  'header-secret',
  'ready',
  'openai',
  'ollama',
  'ollama-user',
];
const canaryOf = (place: string): string => `${CANARY}${place}-0123456789abcdef`;

/** Parts of base64 and hexadecimal that only a canary has. */
const HIDDEN_FORMS = [0, 1, 2].map((before) => {
  const text = Buffer.from(`${'\0'.repeat(before)}${CANARY}`).toString('base64');
  return text.slice(Math.ceil((before * 8) / 6), Math.floor(((before + CANARY.length) * 8) / 6));
});
const FORMS = [CANARY, ...HIDDEN_FORMS, Buffer.from(CANARY).toString('hex')];
const leaksIn = (text: string): string[] =>
  FORMS.filter((form) => text.includes(form)).map((form) =>
    text.slice(Math.max(0, text.indexOf(form) - 200), text.indexOf(form) + 60),
  );

const ENVIRONMENT = ['LAB_KEY', 'VLLM_API_KEY', 'VLLM_BASE_URL', 'OPENAI_API_KEY', 'OPENAI_BASE_URL'];

function providersAt(url: string, folder: string): NonNullable<HoldfastConfig['providers']> {
  const file = join(folder, 'key');
  writeFileSync(file, canaryOf('file'));
  const twoLines = join(folder, 'lines');
  writeFileSync(twoLines, `${canaryOf('lines')}\n${canaryOf('lines')}`);
  const print = (source: string) => secret.command([process.execPath, '-e', source]);
  const baseURL = `${url}/v1`;
  const at = (user: string) => baseURL.replace('//', `//ann:${canaryOf(user)}@`);
  return {
    literal: openaiCompatible({ baseURL, key: canaryOf('literal') }),
    env: openaiCompatible({ baseURL, key: secret.env('LAB_KEY'), api: 'responses' }),
    file: openaiCompatible({ baseURL, key: secret.file(file) }),
    command: openaiCompatible({ baseURL, key: print(`console.log("${CANARY}" + "command-0123456789abcdef")`) }),
    user: openaiCompatible({ baseURL: at('user') }),
    header: openaiCompatible({ baseURL, headers: { 'X-Api-Key': canaryOf('header') } }),
    'header-secret': openaiCompatible({
      ...{ baseURL, headers: { 'X-Other': { place: 'a vault', read: async () => canaryOf('header-secret') } } },
    }),
    ollama: new OllamaModelProvider({
      baseURL: url,
      apiKey: { place: 'a vault', read: async () => canaryOf('ollama') },
    }),
    'ollama-user': new OllamaModelProvider({ baseURL: at('ollama-user') }),
    'unreadable-file': openaiCompatible({ baseURL, key: secret.file(twoLines) }),
    'unreadable-command': openaiCompatible({
      baseURL,
      key: print(`console.error("${canaryOf('stderr')}"); process.exit(1)`),
    }),
  };
}

/** Those of the models that are asked; two have keys that cannot be read. */
const PREFIXES = [
  ...places.map((place) => (place === 'ready' ? 'vllm' : place)),
  'unreadable-file',
  'unreadable-command',
];

/** Every row of every table of both schemas, as text. */
async function everyRow(knex: Database['knex']): Promise<string> {
  const { rows } = await knex.raw(
    "select table_schema as s, table_name as t from information_schema.tables where table_schema in ('dbos', 'holdfast')",
  );
  expect(rows.length).toBeGreaterThan(20);
  const texts: string[] = [];
  for (const { s, t } of rows) {
    const found = await knex.raw('select row_to_json(x)::text as row from ??.?? as x', [s, t]);
    texts.push(...found.rows.map(({ row }: { row: string }) => `${s}.${t}: ${row}`));
  }
  return texts.join('\n');
}

describeEachDatabaseSlowly('secrets are in nothing that is kept or said', (kind) => {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-canaries-'));
  const before = ENVIRONMENT.map((name) => process.env[name]);
  const { log, logged } = collectingLog();
  const printed: string[] = [];
  const runs = new Map<string, string>();
  let server: WireServer;
  let t: TestEngine;
  let http: HttpServer;
  let providers: NonNullable<HoldfastConfig['providers']>;

  beforeAll(async () => {
    server = await canaryServer();
    Object.assign(process.env, {
      LAB_KEY: canaryOf('env'),
      ...{ VLLM_API_KEY: canaryOf('ready'), VLLM_BASE_URL: `${server.url}/v1` },
      ...{ OPENAI_API_KEY: canaryOf('openai'), OPENAI_BASE_URL: `${server.url}/v1` },
    });
    const hear = (piece: unknown): true => {
      printed.push(typeof piece === 'string' ? piece : inspect(piece));
      return true;
    };
    for (const out of [process.stdout, process.stderr]) vi.spyOn(out, 'write').mockImplementation(hear);
    for (const method of ['log', 'info', 'warn', 'error', 'debug'] as const) {
      vi.spyOn(console, method).mockImplementation(
        (...said) => void hear(said.map((one) => inspect(one, { depth: 9 })).join(' ')),
      );
    }
    providers = providersAt(server.url, folder);
    const agents = PREFIXES.flatMap((prefix, place) =>
      ECHOES.map((echo, index) => {
        const agent = new Agent({ name: `${prefix}-${echo}`, model: `${prefix}/${echo}` });
        // Whole and in pieces in turn, so that each echo comes in both ways.
        return defineAgent({ agent, stream: (place + index) % 2 === 0 });
      }),
    );
    t = await openTestEngine(kind, { agents, providers, log });
    http = await createHttpServer(t.engine, options(log));
    const { items, nextCursor } = await t.engine.listAgents({ limit: 200 }, ADMIN);
    expect(nextCursor).toBeNull();
    for (const { name } of items) runs.set(name, (await t.engine.startRun({ agent: name, input: MARKER }, ADMIN)).id);
    for (const id of runs.values()) {
      await vi.waitFor(async () => expect((await restOf(t.engine, id)).completedAt).not.toBeNull(), 100_000);
    }
  }, 120_000);

  afterAll(async () => {
    await http.close(0);
    await t.close();
    await server[Symbol.asyncDispose]();
    vi.restoreAllMocks();
    ENVIRONMENT.forEach((name, index) => {
      const value = before[index];
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
    });
    rmSync(folder, { recursive: true });
  });

  test('while every one of them was sent, and runs ended well and badly', async () => {
    const sent = server.received.map(({ headers }) => {
      const { authorization = '' } = headers;
      return `${JSON.stringify(headers)} ${Buffer.from(authorization.replace('Basic ', ''), 'base64').toString('utf8')}`;
    });
    for (const place of places)
      expect(
        sent.some((one) => one.includes(canaryOf(place))),
        place,
      ).toBe(true);
    const { items } = await t.engine.listRuns({ limit: 200 }, ADMIN);
    const ended = (status: string) => items.filter((run) => run.status === status).length;
    expect(ended('completed')).toBe(places.length * 2);
    expect(ended('completed') + ended('failed')).toBe(runs.size);
  });

  test('not in any answer of HTTP', async () => {
    const get = async (path: string, accept = 'application/json') => {
      const response = await fetch(`${http.url}/api/v1/${path}`, { headers: { ...bearer('adam'), Accept: accept } });
      return `${inspect(response.headers)} ${await response.text()}`;
    };
    const said = [await get('runs?limit=200'), await get('workers'), await get('stats')];
    for (const id of runs.values()) {
      said.push(await get(`runs/${id}`), await get(`runs/${id}/events?limit=200`), await get(`runs/${id}/trajectory`));
      said.push(await get(`runs/${id}/events`, 'text/event-stream'));
    }
    const all = said.join('\n');
    expect(all).toContain(MARKER);
    expect(all).toContain('[redacted]');
    expect(leaksIn(all)).toEqual([]);
  });

  test('not in an error of an agent that runs without an engine', async () => {
    const provider_map = new MultiModelProviderMap();
    for (const [prefix, provider] of Object.entries(providers)) provider_map.addProvider(prefix, provider);
    const modelProvider = new MultiModelProvider({ provider_map });
    let errors = 0;
    for (const model of PREFIXES.flatMap((prefix) => ECHOES.map((echo) => `${prefix}/${echo}`))) {
      const said: unknown = await runAgent(new Agent({ name: 'a', model }), MARKER, { modelProvider }).catch(
        (error: unknown) => error,
      );
      if (said instanceof Error) errors++;
      expect(leaksIn(inspect(said, { depth: 12, showHidden: true })), model).toEqual([]);
    }
    expect(errors).toBeGreaterThan(50);
  });

  test('not in any column of any table', async () => {
    const rows = await t.between(everyRow);
    expect(rows).toContain(MARKER);
    expect(rows).toContain('[redacted]');
    expect(leaksIn(rows)).toEqual([]);
  });

  test('not in anything that is logged or printed', () => {
    expect(logged.length).toBeGreaterThan(0);
    const all = [...logged.map((line) => inspect(line, { depth: 12 })), ...printed].join('\n');
    expect(leaksIn(all)).toEqual([]);
  });
});
