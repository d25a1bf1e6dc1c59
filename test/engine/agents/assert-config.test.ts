import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { providerProblems } from '../../../src/engine/agents/model-providers.js';
import { createEngine, HoldfastError, OllamaModelProvider, openaiCompatible, secret } from '../../../src/index.js';

let dir: string;
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'holdfast-config-'));
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

const HARD = { name: 'a', measure: 'turns', only: { difficulty: 'nightmare' }, when: { type: 'threshold', above: 5 } };
const ALERT = { name: 'a', measure: 'turns', only: { agent: 'clrek' }, when: { type: 'threshold', above: 5 } };

test.each<[string, object, RegExp]>([
  ['no segment at once', { concurrency: 0 }, /concurrency: /],
  ['half a turn', { turnsPerSegment: 0.5 }, /turnsPerSegment: /],
  ['no crash at all', { crashLimit: 0 }, /crashLimit: /],
  ['a role that is none', { role: 'boss' }, /role: /],
  ['a time that no date holds', { approvalTimeoutMs: Number.MAX_SAFE_INTEGER }, /approvalTimeoutMs: /],
  ['a time that is none', { approvalTimeoutMs: Number.NaN }, /approvalTimeoutMs: /],
  ['an address that is none', { ollamaHost: 'http://[' }, /Ollama/],
  ['a setting that is not known', { budget: { perRun: '1' } }, /budget: is not known here/],
  ['a directory that is a number', { exportDir: 5 }, /exportDir: /],
  ['providers that are none', { providers: null }, /providers: expected an object/],
  ['providers in a list', { providers: [] }, /providers: expected an object/],
  ['a handler that is a text', { onFatal: 'exit' }, /onFatal: is no function/],
  ['a database that is no address', { databaseUrl: 'x' }, /databaseUrl: expected postgresql:/],
  ['no text as the database', { databaseUrl: '' }, /databaseUrl: expected postgresql:/],
  ['a label that is none', { workerLabels: { 'A B': 'x' } }, /workerLabels.*: /],
  ['half a container', { workerContainers: 0.5 }, /workerContainers: /],
  ['no processors', { workerCpuCores: 0 }, /workerCpuCores: /],
  ['memory that holds nothing', { workerMemoryMb: 1 }, /workerMemoryMb: /],
  ['spaces of memory that are no list', { memorySpaces: 5 }, /memorySpaces: expected a list/],
  [
    'a budget in a wrong place',
    { budgets: { perAgent: { clerk: { perDay: 1 } } } },
    /: budgets\.perAgent\.clerk\.perDay: /,
  ],
  ['a price of nothing', { prices: { 'lab/one': 1 } }, /: prices\.lab\/one: /],
  [
    'an alert of an agent that is not there',
    { alerts: { rules: [ALERT] } },
    /alerts\.rules\.0\.only\.agent: there is no/,
  ],
  [
    'an alert of a difficulty that no task has',
    { alerts: { rules: [HARD] } },
    /only\.difficulty: expected one of easy/,
  ],
  ['a log that is a text', { log: 'stderr' }, /log: expected a log/],
  ['a log without all levels', { log: { info: () => undefined } }, /log: expected a log with debug/],
])('an engine with %s is refused before anything is made', async (_what, wrong, named) => {
  const starting = createEngine({ agents: [], dataDir: join(dir, 'data'), ...wrong });
  await expect(starting).rejects.toMatchObject({ code: 'config_invalid', message: expect.stringMatching(named) });
  expect(readdirSync(dir)).toEqual([]);
});

test('an engine with providers that cannot work is refused with every wrong field, and no value', async () => {
  const canary = 'canary-key with a space';
  const providers = {
    lab: openaiCompatible({
      baseURL: `ftp://ann:${canary}@lab`,
      key: canary,
      timeoutMs: 0,
      headers: { 'a b': 'c', d: '\n' },
    }),
    old: openaiCompatible(JSON.parse('{"baseUrl": "http://127.0.0.1:9", "api": "soap", "quirks": {"omit": "store"}}')),
    moved: openaiCompatible({ like: 'groq', baseURL: 'http://127.0.0.1:9/v1' }),
    twice: openaiCompatible({ baseURL: 'http://a:b@127.0.0.1:9', key: secret.env('A KEY') }),
    both: openaiCompatible({ baseURL: 'http://127.0.0.1:9', key: 'k', headers: { authorization: 'x' } }),
    query: openaiCompatible({ baseURL: `http://127.0.0.1:9/?key=${canary}`, key: secret.command([]) }),
    gpu: new OllamaModelProvider({ baseURL: 'http://[' }),
    'a/b': openaiCompatible({ baseURL: 'http://127.0.0.1:9' }),
    none: JSON.parse('{}'),
  };
  const starting = createEngine({ agents: [], dataDir: join(dir, 'data'), providers, role: JSON.parse('"boss"') });
  const error = await starting.then(
    () => expect.fail('it started'),
    (caught: unknown) => caught,
  );
  const fields = (error instanceof HoldfastError ? error.fields : []).map(({ pointer }) => pointer);
  expect(fields.toSorted()).toEqual(
    [
      '/role',
      ...['baseURL', 'headers/a b', 'headers/d', 'key', 'timeoutMs'].map((name) => `/providers/lab/${name}`),
      ...['api', 'baseUrl', 'quirks/omit'].map((name) => `/providers/old/${name}`),
      '/providers/moved/key',
      '/providers/twice/key',
      '/providers/both/headers/authorization',
      ...['baseURL', 'key'].map((name) => `/providers/query/${name}`),
      '/providers/gpu/baseURL',
      '/providers/a~1b',
      '/providers/none',
    ].toSorted(),
  );
  expect(String(error)).toMatch(/providers\.lab\.baseURL: expected an address with http:\/\/ or https:\/\//);
  expect(inspect(error, { depth: 9 })).not.toContain('canary');
  expect(readdirSync(dir)).toEqual([]);
});

test('a key that is not there stops who executes runs, and no one else', async () => {
  const unset = secret.env('HOLDFAST_TEST_NO_SUCH_KEY');
  const providers = {
    lab: openaiCompatible({ baseURL: 'http://127.0.0.1:9', key: unset, headers: { 'X-Key': unset } }),
    gpu: new OllamaModelProvider({ baseURL: 'http://127.0.0.1:9', apiKey: secret.file('/no/such/key') }),
  };
  await expect(createEngine({ agents: [], dataDir: join(dir, 'data'), providers })).rejects.toMatchObject({
    code: 'config_invalid',
    message: expect.stringMatching(
      /providers\.lab\.key: the environment variable HOLDFAST_TEST_NO_SUCH_KEY is missing/,
    ),
    fields: ['lab/key', 'lab/headers/X-Key', 'gpu/apiKey'].map((place) => ({
      ...{ pointer: `/providers/${place}`, detail: expect.stringContaining('is missing') },
    })),
  });
  expect(providerProblems(providers, 'api')).toEqual([]);
});

test('what is wrong with a provider is also said where there is no engine, and nothing is read to find out', async () => {
  const provider = openaiCompatible({ baseURL: 'http://127.0.0.1:9', key: secret.file('/no/such/file') });
  await expect(provider.getModel('m')).resolves.toBeDefined();
  await expect(openaiCompatible({}).getModel('m')).rejects.toMatchObject({
    code: 'config_invalid',
    message: expect.stringMatching(/baseURL: is missing/),
  });
  await expect(provider.getModel('')).rejects.toMatchObject({ code: 'model_unknown' });
});
