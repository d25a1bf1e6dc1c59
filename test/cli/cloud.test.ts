import { mkdirSync, mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { checkCloud, cloudArchive, cloudFile, ENTERPRISE } from '../../src/cli/doctor/check-cloud.js';
import type { Finding } from '../../src/cli/doctor/finding.js';
import { readSettings } from '../../src/config.js';
import { names, pageText, ROOT, section } from '../docs/pages.js';

let place: string;
beforeAll(() => {
  place = mkdtempSync(join(tmpdir(), 'holdfast-cloud-'));
});
afterAll(() => rmSync(place, { recursive: true, force: true }));

const SDK = join(ROOT, 'node_modules/@dbos-inc/dbos-sdk');
const jsonOf = (path: string) => JSON.parse(readFileSync(path, 'utf8'));
const theirSchema = z.fromJSONSchema(jsonOf(join(SDK, 'dbos-config.schema.json')));
const own: object = parse(readFileSync(join(ROOT, 'dbos-config.yaml'), 'utf8'));

describe('dbos-config.yaml', () => {
  it('is accepted by the schema that the SDK ships, and by ours', () => {
    expect(theirSchema.safeParse(own).error).toBeUndefined();
    expect(cloudFile.safeParse(own).error).toBeUndefined();
  });

  it.each([
    ['at the top', { ...own, replicas: 3 }],
    ['further down', { ...own, runtimeConfig: { start: ['node server.js'], port: 3000 } }],
    ['of another type', { ...own, runtimeConfig: { start: 'node server.js' } }],
    ['of another language', { ...own, language: 'ruby' }],
  ])('neither accepts what is %s', (_where, file) => {
    expect(theirSchema.safeParse(file).success).toBe(false);
    expect(cloudFile.safeParse(file).success).toBe(false);
  });

  it('our schema has the properties of theirs, and no other', () => {
    const ours = paths(z.toJSONSchema(cloudFile, { io: 'input' }));
    expect(ours).toEqual(paths(jsonOf(join(SDK, 'dbos-config.schema.json'))));
    expect(ours).toContain('runtimeConfig.start');
  });
});

/** Of every property, with those above it. */
function paths(schema: unknown, above = ''): string[] {
  if (typeof schema !== 'object' || schema === null || !('properties' in schema)) return [];
  return Object.entries(schema.properties ?? {})
    .flatMap(([name, inner]) => [`${above}${name}`, ...paths(inner, `${above}${name}.`)])
    .sort();
}

it('the enterprise package is the one that the SDK asks for', () => {
  const { peerDependencies } = jsonOf(join(SDK, 'package.json'));
  expect(peerDependencies).toEqual({ [ENTERPRISE.name]: `~${ENTERPRISE.minor}.0` });
});

const TOKENS = JSON.stringify([{ token: 'a-token-of-16-chars', actor: 'ann', role: 'admin' }]);
const LOCKED = {
  'node_modules/@dbos-inc/dbos-enterprise': { version: '5.3.2' },
  'node_modules/@dbos-inc/otel': { version: '4.25.0' },
};
const START = 'exec node dist/lib/main.js serve --host 0.0.0.0 --port 3000';
const configWith = (command: string): string =>
  `name: my-app\nlanguage: node\nruntimeConfig:\n  start:\n    - ${command}\n`;

/** Files of a directory that DBOS Cloud takes, with changes; null leaves one out. */
function directory(changes: { readonly [path: string]: string | null } = {}): string {
  const dir = mkdtempSync(join(place, 'app-'));
  const files: { readonly [path: string]: string | null } = {
    'package.json': JSON.stringify({ scripts: { build: 'tsc', start: START, launch: `tsc && ${START}` } }),
    'package-lock.json': JSON.stringify({ packages: LOCKED }),
    'dbos-config.yaml': configWith(START),
    ...changes,
  };
  for (const [path, text] of Object.entries(files)) {
    if (text === null) continue;
    mkdirSync(join(dir, path, '..'), { recursive: true });
    writeFileSync(join(dir, path), text);
  }
  return dir;
}

const check = (dir: string, env: { readonly [name: string]: string } = {}): readonly Finding[] =>
  checkCloud(readSettings({ HOLDFAST_TOKENS: TOKENS, HOLDFAST_DATA_DIR: join(dir, '.holdfast'), ...env }), dir);
const wrong = (findings: readonly Finding[]) => findings.filter(({ status }) => status !== 'ok');

describe('doctor --cloud', () => {
  it('finds nothing wrong where nothing is', () => {
    const findings = check(directory());
    expect(wrong(findings)).toEqual([]);
    expect(findings.map((finding) => finding.check)).toEqual([
      ...['dbos-config', 'build', 'start', 'listen', 'lock file', 'enterprise', 'otel'],
      ...['tokens', 'database', 'stop', 'archive'],
    ]);
  });

  it('finds of this repository what cannot be shipped with it, and nothing else', () => {
    expect(wrong(check(ROOT)).map((finding) => [finding.check, finding.status])).toEqual([
      ['enterprise', 'fail'],
      ['otel', 'fail'],
    ]);
  });

  const lockWith = (name: string, version: string): string =>
    JSON.stringify({ packages: { ...LOCKED, [`node_modules/${name}`]: { version } } });
  const without = (name: string): string =>
    JSON.stringify({ packages: Object.fromEntries(Object.entries(LOCKED).filter(([path]) => !path.endsWith(name))) });
  const cases: readonly [string, { [path: string]: string | null }, string, 'fail' | 'warn', string][] = [
    ['no file', { 'dbos-config.yaml': null }, 'dbos-config', 'fail', 'ENOENT'],
    ['no YAML', { 'dbos-config.yaml': 'name: [' }, 'dbos-config', 'fail', 'cannot be read'],
    [
      'an unknown property',
      { 'dbos-config.yaml': `${configWith(START)}replicas: 3\n` },
      'dbos-config',
      'fail',
      'replicas',
    ],
    [
      'a name that Cloud refuses',
      { 'dbos-config.yaml': configWith(START).replace('my-app', 'My App') },
      'dbos-config',
      'fail',
      '/name',
    ],
    [
      'no start command',
      { 'dbos-config.yaml': 'name: my-app\nlanguage: node\nruntimeConfig: {}\n' },
      'dbos-config',
      'fail',
      '/runtimeConfig/start',
    ],
    ['no build script', { 'package.json': '{}' }, 'build', 'fail', 'npm run build'],
    ['npm in between', { 'dbos-config.yaml': configWith('npm start') }, 'start', 'warn', 'npm stands'],
    ['npm and a shell in between', { 'dbos-config.yaml': configWith('npm run launch') }, 'start', 'warn', 'npm stands'],
    [
      'a shell in between',
      { 'dbos-config.yaml': configWith(`sleep 1 && ${START}`) },
      'start',
      'warn',
      'a shell stands',
    ],
    ['a shell that stays', { 'dbos-config.yaml': configWith(START.slice(5)) }, 'start', 'warn', 'a shell stands'],
    ['another program', { 'dbos-config.yaml': configWith('exec node server.js') }, 'listen', 'warn', 'not checked'],
    ['another port', { 'dbos-config.yaml': configWith(START.replace('3000', '8080')) }, 'listen', 'fail', 'port 8080'],
    ['loopback', { 'dbos-config.yaml': configWith('exec node dist/lib/main.js serve') }, 'listen', 'fail', '127.0.0.1'],
    [
      'a role without a server',
      { 'dbos-config.yaml': configWith(`${START} --role worker`) },
      'listen',
      'fail',
      'worker',
    ],
    ['no lock file', { 'package-lock.json': null }, 'lock file', 'fail', 'package-lock.json'],
    [
      'no enterprise package',
      { 'package-lock.json': without('dbos-enterprise') },
      'enterprise',
      'fail',
      'not in the lock file',
    ],
    [
      'another enterprise package',
      { 'package-lock.json': lockWith(ENTERPRISE.name, '5.2.9') },
      'enterprise',
      'fail',
      '5.2.9',
    ],
    [
      'an SDK that does not know of Cloud',
      { 'dbos-config.yaml': configWith(`exec env -u DBOS__CLOUD ${START.slice(5)}`) },
      'enterprise',
      'warn',
      'DBOS__CLOUD',
    ],
    ['no telemetry package', { 'package-lock.json': without('otel') }, 'otel', 'fail', 'not in the lock file'],
    [
      'secrets in the archive',
      { '.env': 'OPENAI_API_KEY=x', '.env.example': '' },
      'archive',
      'fail',
      '.env would be uploaded',
    ],
    ['the data directory in the archive', { '.holdfast/token': 'x' }, 'archive', 'fail', '.holdfast/'],
  ];
  it.each(cases)('says what is wrong: %s', (_what, changes, name, status, detail) => {
    const found = wrong(check(directory(changes)));
    expect(found).toMatchObject([{ check: name, status, detail: expect.stringContaining(detail) }]);
    expect(found[0]?.wayOut).toMatch(/\w/);
  });

  const settings: readonly [string, { [name: string]: string }, string, 'fail' | 'warn', string][] = [
    ['no tokens', { HOLDFAST_TOKENS: '' }, 'tokens', 'fail', 'none are configured'],
    ['a database of its own', { DATABASE_URL: 'postgresql://a:pass-4711@b/c' }, 'database', 'warn', 'DATABASE_URL'],
    ['one name for all', { HOLDFAST_WORKER_ID: 'w1' }, 'worker', 'fail', 'w1'],
    ['a stop that takes longer', { HOLDFAST_SHUTDOWN_GRACE_MS: '30000' }, 'stop', 'fail', '30000'],
  ];
  it.each(settings)('says what is wrong with the variables: %s', (_what, env, name, status, detail) => {
    const found = wrong(check(directory(), env));
    expect(found).toMatchObject([{ check: name, status, detail: expect.stringContaining(detail) }]);
    expect(JSON.stringify(found)).not.toContain('pass-4711');
  });

  it('refuses a file of tokens, and an archive that is too large', () => {
    const dir = directory({ 'tokens.json': TOKENS, 'large.bin': '' });
    truncateSync(join(dir, 'large.bin'), 500e6 + 1);
    const found = wrong(check(dir, { HOLDFAST_TOKENS: '', HOLDFAST_TOKENS_FILE: join(dir, 'tokens.json') }));
    expect(found.map((finding) => [finding.check, finding.status])).toEqual([
      ['tokens', 'fail'],
      ['archive', 'fail'],
    ]);
    writeFileSync(join(dir, '.dbosignore'), '*.bin\n');
    expect(wrong(check(dir))).toEqual([]);
  });
});

describe('docs/operate/dbos-cloud.md', () => {
  const deploy = section(pageText('docs/operate/dbos-cloud.md'), '## Deploy');

  it('names every check, and no other', () => {
    const found = check(directory(), { HOLDFAST_WORKER_ID: 'w1' }).map((finding) => finding.check);
    expect(names(deploy).sort()).toEqual(['config', ...found].sort());
  });

  it('has the file of this repository', () => {
    expect(parse(/```yaml\n([^`]+)```/.exec(deploy)?.[1] ?? '')).toEqual(own);
  });
});

describe('the archive', () => {
  it('leaves out what Cloud leaves out, and what .dbosignore names', () => {
    const all = {
      ...{ 'src/a.ts': '', 'src/a.test.ts': '', 'src/deep/b.test.ts': '', 'test/c.ts': '', 'src/test/d.ts': '' },
      ...{ 'node_modules/x/index.js': '', 'src/node_modules/y.js': '', 'dist/a.js': '', '.git/HEAD': '', 'a+b.ts': '' },
      ...{ '.venv/x': '', '.dbosignore': '# tests\n\ntest/\n**/*.test.ts\n./a+b.ts\n' },
    };
    expect(cloudArchive(directory(all)).files.filter((path) => !/^(package|dbos-config)/.test(path))).toEqual([
      ...['.dbosignore', 'src/a.ts', 'src/test/d.ts'],
    ]);
  });

  it('of this repository has what a build needs, and no tests, pages or data', () => {
    const { files } = cloudArchive(ROOT);
    expect(files).toEqual(expect.arrayContaining(['src/main.ts', 'package-lock.json', 'tsconfig.build.json']));
    expect(files.filter((path) => /^(test|docs|\.holdfast|dist|node_modules)\//.test(path))).toEqual([]);
  });
});
