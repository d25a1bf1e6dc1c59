import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { environmentVariable, pinDbosIdentity, readSettings, SETTINGS } from '../src/config.js';
import { HoldfastError } from '../src/core/errors/errors.js';
import { OBJECT_STORE_KEYS } from '../src/core/exports/bucket-place.js';
import { HUB_KEYS } from '../src/core/exports/hub-place.js';
import { MODEL_PROVIDERS } from '../src/core/models/model-provider-table.js';

const OF_PROVIDERS = Object.values(MODEL_PROVIDERS).flatMap(({ keyVariable, urlVariable }) => [
  keyVariable,
  `${keyVariable}_FILE`,
  ...(urlVariable === null ? [] : [urlVariable]),
]);

const OF_OBJECT_STORES = Object.values({ ...OBJECT_STORE_KEYS, ...HUB_KEYS }).flatMap(({ variable }) => [
  variable,
  `${variable}_FILE`,
]);

const directory = mkdtempSync(join(tmpdir(), 'holdfast-config-'));
afterAll(() => rmSync(directory, { recursive: true }));

const TOKEN = 'a-token-of-more-than-16';
const list = (...tokens: object[]): string => JSON.stringify(tokens);

function refusal(env: NodeJS.ProcessEnv): HoldfastError {
  try {
    readSettings(env);
  } catch (error) {
    if (error instanceof HoldfastError) return error;
    throw error;
  }
  throw new Error('the settings were accepted');
}

test('an empty environment gives the defaults', () => {
  expect(readSettings({})).toEqual({
    databaseUrl: null,
    dataDir: resolve('.holdfast'),
    configFile: null,
    role: 'all',
    host: '127.0.0.1',
    port: 3000,
    metricsPort: null,
    tokens: [],
    tokensFile: null,
    console: true,
    publicUrl: null,
    maxBodyBytes: 1_048_576,
    maxTaskBytes: 9_437_184,
    logLevel: 'info',
    logSteps: false,
    workerId: null,
    concurrency: 32,
    turnsPerSegment: 50,
    crashLimit: 5,
    startWaitMs: 600_000,
    stillAfterMs: 15_000,
    approvalTimeoutMs: 604_800_000,
    artifacts: null,
    shutdownGraceMs: 10_000,
    ollamaApiKey: null,
    ollamaHost: null,
    cassettesDir: resolve('cassettes'),
    exportDir: null,
    ...{ exportBuckets: null, exportHub: null, hubUrl: null },
    objectStoreUrl: null,
    objectStoreRegion: 'us-east-1',
    ...{ dockerHost: null, dockerCertPath: null, dockerPatienceMs: 120_000 },
    ...{ workerLabels: null, workerContainers: null, workerCpuCores: null, workerMemoryMb: null },
    recordTo: null,
    signingKeyFile: null,
    checkpoints: null,
    serverUrl: null,
    clientToken: null,
  });
});

test('every setting that is listed is read, and changes what comes out', () => {
  const file = join(directory, 'tokens.json');
  writeFileSync(file, list({ token: TOKEN, actor: 'ann', role: 'viewer' }));
  const values: Record<string, string> = {
    DATABASE_URL: 'postgresql://a@b/c',
    DBOS_SYSTEM_DATABASE_URL: 'postgres://a@b/d',
    HOLDFAST_DATA_DIR: '/data',
    HOLDFAST_CONFIG: '/app/holdfast.config.ts',
    HOLDFAST_ROLE: 'worker',
    HOLDFAST_HOST: '::1',
    HOLDFAST_PORT: '0',
    PORT: '8080',
    HOLDFAST_TOKENS: list({ token: TOKEN, actor: 'ann', role: 'viewer' }),
    HOLDFAST_TOKENS_FILE: file,
    HOLDFAST_CONSOLE: 'off',
    HOLDFAST_PUBLIC_URL: 'https://runs.example.org',
    HOLDFAST_MAX_BODY_BYTES: '2048',
    HOLDFAST_MAX_TASK_BYTES: '4096',
    HOLDFAST_LOG_LEVEL: 'debug',
    HOLDFAST_LOG_STEPS: 'on',
    HOLDFAST_WORKER_ID: 'w1',
    DBOS__VMID: 'vm-1',
    HOLDFAST_CONCURRENCY: '4',
    HOLDFAST_TURNS_PER_SEGMENT: '7',
    HOLDFAST_CRASH_LIMIT: '9',
    HOLDFAST_START_WAIT_MS: '0',
    HOLDFAST_STILL_AFTER_MS: '6000',
    HOLDFAST_APPROVAL_TIMEOUT_MS: '0',
    HOLDFAST_SHUTDOWN_GRACE_MS: '0',
    OLLAMA_API_KEY: 'key',
    OLLAMA_HOST: '127.0.0.1:11434',
    HOLDFAST_ARTIFACTS: 's3://data/artifacts',
    HOLDFAST_CASSETTES: 'tapes',
    HOLDFAST_EXPORT_DIR: 'data',
    HOLDFAST_EXPORT_BUCKETS: 's3://data/a s3://data/{tenant}',
    HOLDFAST_EXPORT_HUB: 'hf://datasets/acme hf://datasets/acme/{tenant}',
    HF_ENDPOINT: 'http://127.0.0.1:9001',
    AWS_ENDPOINT_URL_S3: 'http://127.0.0.1:9000',
    AWS_REGION: 'eu-central-1',
    DOCKER_CERT_PATH: '/certificates',
    DOCKER_HOST: 'unix:///run/engine.sock',
    HOLDFAST_DOCKER_PATIENCE_MS: '5000',
    HOLDFAST_WORKER_LABELS: 'gpu=a100, zone=b',
    HOLDFAST_WORKER_CONTAINERS: '3',
    HOLDFAST_WORKER_CPU_CORES: '16',
    HOLDFAST_WORKER_MEMORY_MB: '65536',
    HOLDFAST_METRICS_PORT: '9464',
    HOLDFAST_RECORD_TO: 'tapes',
    HOLDFAST_SIGNING_KEY_FILE: '/run/secrets/signing-key',
    HOLDFAST_CHECKPOINTS: '-',
    HOLDFAST_URL: 'https://holdfast.example',
    HOLDFAST_TOKEN: TOKEN,
  };
  const elsewhere = [...OF_PROVIDERS, ...OF_OBJECT_STORES];
  const names = SETTINGS.map((setting) => setting.name).filter((name) => !elsewhere.includes(name));
  expect(Object.keys(values).toSorted()).toEqual(names.toSorted());
  for (const [name, value] of Object.entries(values)) {
    expect(readSettings({ [name]: value }), name).not.toEqual(readSettings({}));
  }
});

test('keys and addresses of model providers are judged at start, and read when a model is asked for', () => {
  const names = new Set(SETTINGS.map((setting) => setting.name));
  for (const name of [...OF_PROVIDERS, ...OF_OBJECT_STORES]) expect(names).toContain(name);
  expect(environmentVariable('HOLDFAST_TEST_NO_SUCH_VARIABLE')).toBeNull();
  expect(environmentVariable('PATH')).toBe(process.env['PATH']);
});

test('a key of a model provider is a header, and in one place', () => {
  const spaced = refusal({ ANTHROPIC_API_KEY: 'sk-ant two words' });
  expect(spaced.message).toMatch(/ANTHROPIC_API_KEY has a value that is not shown here; expected visible ASCII/);
  expect(spaced.message).not.toContain('two');
  const address = refusal({ OPENAI_BASE_URL: 'ftp://ann:password@x' });
  expect(address.message).toMatch(
    /^OPENAI_BASE_URL .* not shown here; expected an address with http:\/\/ or https:\/\/\.$/,
  );
  const twice = refusal({ GROQ_API_KEY: 'gsk-1', GROQ_API_KEY_FILE: '/run/groq' });
  expect(twice.fields).toEqual([
    {
      pointer: '/GROQ_API_KEY_FILE',
      detail: expect.stringContaining('GROQ_API_KEY and GROQ_API_KEY_FILE are both set'),
    },
  ]);
});

test('a key of an object store is in one place, and is not repeated', () => {
  const twice = refusal({ AWS_SECRET_ACCESS_KEY: 'secret-one', AWS_SECRET_ACCESS_KEY_FILE: '/run/key' });
  expect(twice.fields[0]?.pointer).toBe('/AWS_SECRET_ACCESS_KEY_FILE');
  expect(twice.message).not.toContain('secret-one');
  expect(refusal({ AWS_SECRET_ACCESS_KEY: 'secret two' }).message).not.toContain('two');
});

test('an empty variable counts as unset', () => {
  expect(readSettings({ HOLDFAST_PORT: '', DATABASE_URL: '', HOLDFAST_TOKENS: '' })).toEqual(readSettings({}));
});

test('of two names of one setting ours goes first', () => {
  expect(readSettings({ PORT: '1', HOLDFAST_PORT: '2' }).port).toBe(2);
  expect(readSettings({ PORT: '1' }).port).toBe(1);
  expect(readSettings({ DBOS__VMID: 'vm', HOLDFAST_WORKER_ID: 'w' }).workerId).toBe('w');
  expect(readSettings({ DATABASE_URL: 'postgres://a/b', DBOS_SYSTEM_DATABASE_URL: 'postgres://c/d' }).databaseUrl).toBe(
    'postgres://a/b',
  );
});

test('0 as approval timeout means never', () => {
  expect(readSettings({ HOLDFAST_APPROVAL_TIMEOUT_MS: '0' }).approvalTimeoutMs).toBeNull();
});

describe('a bad value names the variable, what came and what was expected', () => {
  test.each([
    ['HOLDFAST_PORT', '70000', 'a whole number from 0 to 65535'],
    ['HOLDFAST_PORT', 'tcp://10.0.0.1:3000', 'a whole number from 0 to 65535'],
    ['PORT', '-1', 'a whole number from 0 to 65535'],
    ['HOLDFAST_CONCURRENCY', '0', 'a whole number from 1 to 10000'],
    ['HOLDFAST_CONCURRENCY', '1e3', 'a whole number from 1 to 10000'],
    ['HOLDFAST_TURNS_PER_SEGMENT', '3.5', 'a whole number from 1 to 10000'],
    ['HOLDFAST_MAX_BODY_BYTES', '1MB', 'a whole number from 1024 to 104857600'],
    ['HOLDFAST_LOG_LEVEL', 'verbose', 'one of fatal, error, warn, info, debug, trace, silent'],
    ['HOLDFAST_ROLE', 'server', 'one of all, api, worker'],
    ['HOLDFAST_HOST', 'http://localhost', 'a host name or an IP address'],
    ['HOLDFAST_WORKER_ID', 'a b', 'at most 100 letters'],
    ['HOLDFAST_WORKER_LABELS', 'gpu', 'at most 8 labels such as gpu=a100,zone=b'],
    ['HOLDFAST_WORKER_LABELS', 'gpu=a,gpu=b', 'at most 8 labels'],
    ['HOLDFAST_WORKER_LABELS', 'gpu=A100', 'at most 8 labels'],
    ['HOLDFAST_URL', 'localhost', 'an address with http:// or https://'],
    ['HOLDFAST_EXPORT_BUCKETS', 's3://a', 's3://bucket/prefix'],
    ['HOLDFAST_EXPORT_BUCKETS', 's3://data/../x', 's3://bucket/prefix'],
    ['HOLDFAST_EXPORT_BUCKETS', 's3://data/x /etc', 's3://bucket/prefix'],
    ['HOLDFAST_EXPORT_HUB', 'hf://models/acme', 'hf://datasets/owner'],
    ['HOLDFAST_EXPORT_HUB', 'hf://datasets/acme/../x', 'hf://datasets/owner'],
    ['AWS_REGION', 'a/b', 'the name of a region'],
  ])('%s=%s', (name, value, expected) => {
    const error = refusal({ [name]: value });
    expect(error.code).toBe('config_invalid');
    expect(error.message).toContain(`${name} is ${JSON.stringify(value)}; expected ${expected}`);
    expect(error.fields).toEqual([{ pointer: `/${name}`, detail: error.message }]);
  });

  test('all of them at once', () => {
    const error = refusal({ HOLDFAST_PORT: 'x', HOLDFAST_CONCURRENCY: 'y' });
    expect(error.fields.map((field) => field.pointer)).toEqual(['/HOLDFAST_PORT', '/HOLDFAST_CONCURRENCY']);
  });

  test.each(['http://[', 'ftp://host', 'http://u:hunter2@host:99999'])(
    'OLLAMA_HOST=%s, which is not repeated, since it may hold a password',
    (value) => {
      const error = refusal({ OLLAMA_HOST: value });
      expect(error.message).toBe(
        'OLLAMA_HOST has a value that is not shown here; expected a host, host:port or an address with http:// or https://.',
      );
      expect(error.code).toBe('config_invalid');
    },
  );

  test('a database address is not repeated, since it may hold a password', () => {
    const error = refusal({ DATABASE_URL: 'mysql://u:hunter2@h/d' });
    expect(error.message).toContain('DATABASE_URL has a value that is not shown here; expected postgresql://');
    expect(error.message).not.toContain('hunter2');
  });
});

describe('tokens', () => {
  const ann = { token: TOKEN, actor: 'ann', role: 'approver', tenant: 'acme' };

  test('come from a list or from a file', () => {
    const file = join(directory, 'list.json');
    writeFileSync(file, list(ann));
    expect(readSettings({ HOLDFAST_TOKENS: list(ann) }).tokens).toEqual([ann]);
    expect(readSettings({ HOLDFAST_TOKENS_FILE: file }).tokens).toEqual([ann]);
  });

  test('are of the tenant `default` unless they say otherwise', () => {
    const { tenant: _tenant, ...rest } = ann;
    expect(readSettings({ HOLDFAST_TOKENS: list(rest) }).tokens[0]?.tenant).toBe('default');
  });

  test.each([
    ['not JSON', `[{"token": "${TOKEN}"`, 'does not hold JSON'],
    ['not a list', '{}', 'HOLDFAST_TOKENS is wrong'],
    ['an empty list', '[]', 'HOLDFAST_TOKENS is wrong'],
    ['a short token', list({ ...ann, token: 'short-secret' }), 'at /0/token'],
    ['a token with a space', list({ ...ann, token: `${TOKEN} ${TOKEN}` }), 'at /0/token'],
    ['an unknown role', list({ ...ann, role: 'root' }), 'at /0/role'],
    ['no actor', list({ token: TOKEN, role: 'admin' }), 'at /0/actor'],
    ['an unknown field', list({ ...ann, admin: true }), 'at /0'],
    ['a token as a name', `[{"${TOKEN}": {"actor": "ann"}}]`, 'whose name is not shown'],
    ['a token behind an equals sign', `[{"actor=ann": 1, "token:${TOKEN}": 2}]`, 'whose name is not shown'],
    ['one token twice', list(ann, { ...ann, role: 'admin' }), 'a token is there twice'],
  ])('%s is refused without repeating it', (_what, value, said) => {
    const error = refusal({ HOLDFAST_TOKENS: value });
    expect(error.code).toBe('config_invalid');
    expect(error.message).toContain(said);
    expect(error.message).not.toContain(TOKEN);
    expect(error.message).not.toContain('short-secret');
  });

  test('both sources at once are refused', () => {
    const error = refusal({ HOLDFAST_TOKENS: list(ann), HOLDFAST_TOKENS_FILE: '/x' });
    expect(error.message).toContain('both set');
  });

  test('a file that is missing or unreadable is named', () => {
    const file = join(directory, 'missing.json');
    expect(refusal({ HOLDFAST_TOKENS_FILE: file }).message).toContain(`"${file}", which cannot be read (ENOENT)`);
    expect(refusal({ HOLDFAST_TOKENS_FILE: directory }).message).toContain('(EISDIR)');
    const locked = join(directory, 'locked.json');
    writeFileSync(locked, list(ann));
    chmodSync(locked, 0o000);
    if (process.getuid?.() !== 0) expect(refusal({ HOLDFAST_TOKENS_FILE: locked }).message).toContain('(EACCES)');
  });
});

test('the identity of an engine goes into the variables of DBOS Cloud, and nowhere else', () => {
  const identity = { application: 'holdfast', version: '1', executor: 'w1' };
  const deploy = { DBOS_APP_NAME: 'my-app', DBOS__APPVERSION: '17', DBOS__VMID: 'vm-1' };
  const cloud = { ...deploy, DBOS__CLOUD: 'true' };
  pinDbosIdentity(identity, cloud);
  expect(cloud).toEqual({ DBOS__CLOUD: 'true', DBOS_APP_NAME: 'holdfast', DBOS__APPVERSION: '1', DBOS__VMID: 'w1' });
  const elsewhere = { ...deploy };
  pinDbosIdentity(identity, elsewhere);
  expect(elsewhere).toEqual(deploy);
});

test.each([
  'HOLDFAST_URL',
  'DOCKER_HOST',
  'HOLDFAST_EXPORT_BUCKETS',
  'HOLDFAST_EXPORT_HUB',
  'HOLDFAST_HOST',
  'AWS_REGION',
  'DATABASE_URL',
  'OLLAMA_HOST',
  'OPENAI_BASE_URL',
])('an error about %s repeats no user and no password of what came', (name) => {
  const before = { HOLDFAST_EXPORT_BUCKETS: 's3://a b://', HOLDFAST_URL: 'ftp://' }[name] ?? 'ftp://';
  for (const userInfo of [
    'ann:Pw83mZq0LpXw',
    'Pw83mZq0LpXw',
    'ann:Pw83mZq0LpXw@x/ y',
    ':Pw83mZq0LpXw',
    'ann:a"Pw83mZq0LpXw',
  ]) {
    const { message, fields } = refusal({ [name]: `${before}${userInfo}@host:1/?access_token=Tk83mZq0LpXw` });
    expect(message).toContain(name);
    expect(JSON.stringify([message, fields])).not.toMatch(/Pw83mZq0LpXw|Tk83mZq0LpXw/);
  }
});
