import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { checkEngine } from '../../src/cli/doctor/check-engine.js';
import { checkSigningKey } from '../../src/cli/doctor/check-process.js';
import { makeLogKey } from '../../src/engine/evidence/log-keys.js';
import { SLOW } from '../harness/slow.js';
import { runHere } from './in-process.js';
import { type Ended, Program } from './program.js';

let dir: string;
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'holdfast-cli-'));
});
const started: Program[] = [];
afterAll(() => {
  for (const { child } of started) child.kill('SIGKILL');
  rmSync(dir, { recursive: true, force: true });
});

function holdfast(args: readonly string[], env: { [name: string]: string } = {}, cwd = dir): Promise<Ended> {
  const program = new Program(args, { cwd, env });
  started.push(program);
  return program.ended;
}

/** Two lines: what happened with its code, and the way out. */
const isError = ({ stderr }: Ended, code: string): RegExpExecArray | null =>
  new RegExp(`^holdfast: [^\\n]+ \\(${code}\\)\\n {2}[^\\n]+\\n$`).exec(stderr);

describe('a command line that is wrong', () => {
  it.each([
    ['a missing argument', ['run', 'treasurer'], "Missing required argument 'input'."],
    ['a missing option', ['reject', 'int_1'], "Required option '-m, --message <text>' not specified."],
    ['a value out of range', ['runs', '--limit', '201'], 'Expected a whole number from 1 to 200.'],
    ['an answer that is not JSON', ['answer', 'int_1', 'yes'], 'Expected JSON'],
  ])('%s is said in two lines, with exit code 2', async (_name, args, message) => {
    const ended = await runHere(args, {});
    expect(ended.code).toBe(2);
    expect(isError(ended, 'invalid_request'), ended.stderr).not.toBeNull();
    expect(ended.stderr).toContain(message);
    expect(ended.stdout).toBe('');
  });

  it('is that of a process too', async () => {
    const ended = await holdfast(['frobnicate']);
    expect(ended).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining("command 'frobnicate'.") });
    expect(isError(ended, 'invalid_request'), ended.stderr).not.toBeNull();
  });

  it('help and version are no errors', async () => {
    const [version, help] = [await runHere(['--version'], {}), await runHere(['run', '--help'], {})];
    expect([version.code, help.code]).toEqual([0, 0]);
    expect(version.stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
    expect(help.stdout).toContain('--wait');
  });
});

describe('what is refused before a server is asked', () => {
  const env = { HOLDFAST_URL: 'http://127.0.0.1:9', HOLDFAST_TOKEN: 'a-token-of-16-chars' };

  it('an input that is not UTF-8', async () => {
    const stdin = Buffer.from([0x61, 0xff, 0xfe]);
    const ended = await new Program(['run', 'treasurer', '-'], { cwd: dir, env, stdin }).ended;
    expect(ended.code).toBe(1);
    expect(isError(ended, 'invalid_request'), ended.stderr).not.toBeNull();
  });

  it('a token that no header can carry, which is not repeated', async () => {
    const ended = await runHere(['runs'], { ...env, HOLDFAST_TOKEN: 'secret-token\nof-two-lines' });
    expect(ended.code).toBe(1);
    expect(isError(ended, 'config_invalid'), ended.stderr).not.toBeNull();
    expect(ended.stderr).toContain('HOLDFAST_TOKEN');
    expect(ended.stderr).not.toContain('secret-token');
  });
});

describe('a server that cannot be asked', () => {
  it('does not answer', async () => {
    const ended = await runHere(['runs'], {
      HOLDFAST_URL: 'http://127.0.0.1:9',
      HOLDFAST_TOKEN: 'a-token-of-16-chars',
    });
    expect(ended.code).toBe(1);
    expect(isError(ended, 'server_unreachable'), ended.stderr).not.toBeNull();
  });

  it('is none of ours', async () => {
    const other = createServer((_request, response) => response.end('<html></html>'));
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
    const { port } = other.address() as AddressInfo;
    const env = { HOLDFAST_URL: `http://127.0.0.1:${port}`, HOLDFAST_TOKEN: 'a-token-of-16-chars' };
    const ended = await runHere(['runs'], env);
    other.close();
    expect(ended.code).toBe(1);
    expect(isError(ended, 'server_unreachable'), ended.stderr).not.toBeNull();
    expect(ended.stderr).toContain('is not Holdfast');
  });

  it('without a token to show names the file that has none', async () => {
    const ended = await runHere(['inbox'], { HOLDFAST_DATA_DIR: join(dir, '.holdfast') });
    expect(ended.code).toBe(1);
    expect(isError(ended, 'unauthenticated'), ended.stderr).not.toBeNull();
    expect(ended.stderr).toContain(join(dir, '.holdfast', 'token'));
  });
});

describe('serve refuses to start, and leaves nothing behind', () => {
  it.each([
    ['a setting that is wrong', {}, { HOLDFAST_PORT: 'abc' }, 'config_invalid', 'HOLDFAST_PORT'],
    ['an open address without tokens', {}, { HOLDFAST_HOST: '0.0.0.0' }, 'unsafe_bind', '0.0.0.0'],
    [
      'an agent that is none',
      { 'holdfast.config.ts': 'export default { agents: [{ agent: {} }] };' },
      {},
      'agent_invalid',
      'agents',
    ],
    ['a folder without a configuration', {}, {}, 'config_unreadable', 'holdfast.config.ts'],
    ['a token that is damaged', { token: 'short' }, { HOLDFAST_DATA_DIR: '.' }, 'config_invalid', 'token'],
  ])('%s', async (_name, files, env, code, named) => {
    const place = mkdtempSync(join(dir, 'serve-'));
    for (const [name, text] of Object.entries(files)) writeFileSync(join(place, name), text);
    const ended = await holdfast(['serve'], { HOLDFAST_PORT: '0', ...env }, place);
    expect(ended.code).toBe(1);
    expect(isError(ended, code), ended.stderr).not.toBeNull();
    expect(ended.stderr).toContain(named);
    expect(ended.stdout).toBe('');
    expect(readdirSync(place)).toEqual(Object.keys(files));
  });

  it('a port in use', async () => {
    const other = createServer();
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
    const { port } = other.address() as AddressInfo;
    const ended = await holdfast(['serve', '--port', String(port)]);
    other.close();
    expect(ended.code).toBe(1);
    expect(isError(ended, 'port_in_use'), ended.stderr).not.toBeNull();
  });
});

interface Finding {
  readonly check: string;
  readonly status: string;
}

const pairs = (found: readonly string[]): [string, string][] =>
  found.flatMap((status, index) => (index % 2 === 0 ? [[found[index + 1] ?? '', status]] : []));

const statuses = ({ stdout }: Ended): { [check: string]: string } =>
  Object.fromEntries((JSON.parse(stdout) as Finding[]).map(({ check, status }) => [check, status]));

describe('doctor', () => {
  it.runIf(SLOW)('finds nothing wrong in an empty directory, and makes nothing', async () => {
    const place = mkdtempSync(join(dir, 'doctor-'));
    const ended = await new Program(['doctor', '--json'], { cwd: place, env: { HOLDFAST_PORT: '0' } }).ended;
    expect(statuses(ended)).toEqual({
      node: 'ok',
      settings: 'ok',
      'data directory': 'ok',
      tokens: 'ok',
      config: 'warn',
      'signing key': 'ok',
      database: 'ok',
      port: 'ok',
    });
    expect(ended.code).toBe(0);
    expect(readdirSync(place)).toEqual([]);
  });

  it.runIf(SLOW)('names what is wrong with the way out of each, and fails', async () => {
    const place = mkdtempSync(join(dir, 'doctor-'));
    mkdirSync(join(place, '.holdfast'), { mode: 0o755 });
    writeFileSync(join(place, '.holdfast', 'token'), 'a-token-of-16-chars\n');
    chmodSync(join(place, '.holdfast', 'token'), 0o644);
    writeFileSync(join(place, 'holdfast.config.ts'), 'export default { agents: [{}] };');
    const other = createServer();
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
    const { port } = other.address() as AddressInfo;
    const env = { HOLDFAST_PORT: String(port), DATABASE_URL: 'postgresql://nobody:secret@127.0.0.1:9/none' };
    const ended = await new Program(['doctor'], { cwd: place, env }).ended;
    other.close();
    const lines = ended.stdout.split('\n');
    const found = lines.flatMap((line) => /^(ok|warn|fail) +([a-z ]+?) {2,}/.exec(line)?.slice(1, 3) ?? []);
    expect(Object.fromEntries(pairs(found))).toEqual({
      node: 'ok',
      settings: 'ok',
      'data directory': 'warn',
      tokens: 'fail',
      config: 'fail',
      database: 'fail',
      port: 'fail',
    });
    expect(ended.code).toBe(1);
    expect(lines.filter((line) => /^ {6}/.test(line)).length, 'a way out of each').toBe(5);
    expect(ended.stdout).toContain('chmod 600');
    expect(ended.stdout + ended.stderr).not.toContain('secret');
  });

  it('warns where nothing signs, and reads the key that is to', async () => {
    const signs = (databaseUrl: string | null, signingKeyFile: string | null) =>
      checkSigningKey({ databaseUrl, dataDir: dir, signingKeyFile }, null);
    const url = 'postgresql://127.0.0.1/none';
    expect(await signs(null, null)).toMatchObject({ status: 'ok' });
    const none = await signs(url, null);
    expect(none).toMatchObject({ status: 'warn', wayOut: expect.stringContaining('holdfast signing-key make') });
    const file = join(dir, 'key-of-the-log');
    makeLogKey(file, 'holdfast/test');
    expect(await signs(url, file)).toMatchObject({ status: 'ok', detail: 'signs as holdfast/test' });
    writeFileSync(join(dir, 'no-key'), 'no key', { mode: 0o600 });
    for (const wrong of ['no-key', 'not-there'])
      expect(await signs(url, join(dir, wrong)), wrong).toMatchObject({ status: 'fail', wayOut: expect.any(String) });
    const told = await signs(url, join(dir, 'no-key'));
    expect(told.detail).toContain('(secret_unreadable)');
  });

  it('says of a container engine that it does not answer, and asks none where none is wanted', async () => {
    const none = { images: [], policy: undefined };
    const of = { dockerHost: null, dockerCertPath: null, role: 'all' } as const;
    expect(await checkEngine(of, none)).toEqual([]);
    const dockerHost = `unix://${join(dir, 'no-engine.sock')}`;
    expect(await checkEngine({ ...of, dockerHost, role: 'api' }, { ...none, images: ['one:1'] })).toEqual([]);
    const away = await checkEngine({ ...of, dockerHost }, none);
    expect(away).toMatchObject([
      { check: 'containers', status: 'fail', detail: expect.stringContaining('engine_unreachable') },
    ]);
  });

  it.runIf(SLOW)('names a setting that cannot be read', async () => {
    const ended = await holdfast(['doctor'], { HOLDFAST_CONCURRENCY: '0' });
    expect(ended.code).toBe(1);
    expect(ended.stdout).toContain('HOLDFAST_CONCURRENCY');
  });
});
