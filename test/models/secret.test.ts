import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { type Model, setTracingDisabled, withTrace } from '@openai/agents';
import { afterAll, describe, expect, it } from 'vitest';
import { OpenAICompatibleProvider } from '../../src/models/openai/openai-compatible-provider.js';
import { HeldSecret } from '../../src/models/secrets/held-secret.js';
import {
  commandSecret as commandOf,
  fileSecret,
  literalSecret,
  type Secret,
  variableSecret,
} from '../../src/models/secrets/secret.js';
import { requestOf } from './requests.js';
import { chats } from './servers/chat-server.js';
import { type Answerer, status, wireServer } from './servers/wire-server.js';

setTracingDisabled(true);

const folder = mkdtempSync(join(tmpdir(), 'holdfast-secret-'));
afterAll(() => rmSync(folder, { recursive: true }));

const fileWith = (name: string, content: string | Buffer): string => {
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
};
const program = (source: string): readonly string[] => [process.execPath, '-e', source];
const read = (secret: Secret): Promise<string> => new HeldSecret(secret).value();

const commandSecret = (command: readonly string[]): Secret => commandOf(command, () => ({ PATH: '/usr/bin:/bin' }));

describe('a secret is read from', () => {
  it('a variable, as it is when it is read', async () => {
    const environment: Record<string, string> = {};
    const secret = variableSecret('LAB_KEY', (name) => environment[name] ?? null);
    await expect(read(secret)).rejects.toMatchObject({
      code: 'secret_unreadable',
      message: 'A key cannot be read from the environment variable LAB_KEY: it is not set.',
    });
    environment['LAB_KEY'] = 'key-of-now';
    expect(await read(secret)).toBe('key-of-now');
  });

  it('a file, without the line break at its end', async () => {
    expect(await read(fileSecret(fileWith('key', ' key-of-a-file\r\n')))).toBe('key-of-a-file');
  });

  it('what a program prints, which hears no shell and no keyboard', async () => {
    const echo = commandSecret([...program('process.stdin.resume(); console.log(process.argv[1])'), '$HOME;`id`']);
    expect(await read(echo)).toBe('$HOME;`id`');
  });
});

describe('a secret that cannot be read says where and why, and not what was there', () => {
  const pipe = join(folder, 'pipe');
  execFileSync('mkfifo', [pipe]);
  const shut = fileWith('shut', 'hidden-key-text');
  chmodSync(shut, 0o000);
  const isRoot = process.getuid?.() === 0;

  it.each<[string, Secret, RegExp]>([
    ['a file that is not there', fileSecret(join(folder, 'none')), /the file .*none: it cannot be read \(ENOENT\)/],
    ['a directory', fileSecret(folder), /it is not a file/],
    ['a pipe that no one writes to', fileSecret(pipe), /it is not a file/],
    ['an endless device', fileSecret('/dev/zero'), /it is not a file/],
    [
      'a file that is too large',
      fileSecret(fileWith('large', Buffer.alloc(65_537, 'hidden-key-text'))),
      /larger than 64 KiB/,
    ],
    ['an empty file', fileSecret(fileWith('empty', '\n')), /it is empty/],
    [
      'a file of several lines',
      fileSecret(fileWith('lines', 'hidden-key-text\nhidden-key-text')),
      /other characters than visible ASCII/,
    ],
    [
      'a program that is not there',
      commandSecret(['/no/such/program']),
      /the command \/no\/such\/program: it cannot be started \(ENOENT\)/,
    ],
    [
      'a program that fails',
      commandSecret(program('console.error("hidden-key-text"); process.exit(3)')),
      /it ended with exit code 3/,
    ],
    [
      'a program that is killed',
      commandSecret(program('process.kill(process.pid, "SIGKILL")')),
      /it was ended by SIGKILL/,
    ],
    [
      'a program that prints too much',
      commandSecret(program('process.stdout.write("hidden-key-text".repeat(5000)); setInterval(() => {}, 1000)')),
      /more than 64 KiB/,
    ],
    ['a value that is none', { place: 'a vault', read: async () => JSON.parse('null') }, /a vault: it is empty/],
  ])('%s', async (_what, secret, said) => {
    const error: unknown = await read(secret).then(
      () => expect.fail('it was read'),
      (caught: unknown) => caught,
    );
    expect(error).toMatchObject({ code: 'secret_unreadable', message: expect.stringMatching(said) });
    expect(inspect(error, { depth: 9 })).not.toContain('hidden-key-text');
  });

  it.skipIf(isRoot)('a file that others may not read', async () => {
    await expect(read(fileSecret(shut))).rejects.toThrow(/EACCES/);
  });

  it.each<[string, Secret]>([
    ['a name that no variable has', variableSecret('a b', () => null)],
    ['no path', fileSecret('')],
    ['a command that is a line', Reflect.apply(commandOf, null, ['vault read', () => ({})])],
    ['no program', commandSecret([])],
  ])('is found wrong without being read: %s', (_what, { problem }) => {
    expect(problem).toMatch(/^expected /);
  });
});

describe('a secret in use', () => {
  it('is read once, however many ask at the same time', async () => {
    let times = 0;
    const held = new HeldSecret({ place: 'a vault', read: async () => `key-number-${++times}` });
    expect(await Promise.all([held.value(), held.value(), held.value()])).toEqual(Array(3).fill('key-number-1'));
    expect(await Promise.all([1, 2, 3].map(() => held.renewed('key-number-1')))).toEqual(Array(3).fill('key-number-2'));
    // Who was refused with the old one later gets the new one without another look.
    expect(await held.renewed('key-number-1')).toBe('key-number-2');
    expect(times).toBe(2);
  });

  it('is looked for again after a failure to read it', async () => {
    let fails = true;
    const held = new HeldSecret({
      place: 'a vault',
      read: async () => {
        if (fails) throw new Error('sealed');
        return 'key-of-the-vault';
      },
    });
    await expect(held.value()).rejects.toThrow(/a vault: sealed/);
    fails = false;
    expect(await held.value()).toBe('key-of-the-vault');
  });

  it('shows its value to no one who looks at it', async () => {
    const secret = literalSecret('literal-key-0123456789');
    const held = new HeldSecret(secret);
    await held.value();
    const provider = new OpenAICompatibleProvider(
      { baseURL: 'http://127.0.0.1:9', key: 'literal-key-0123456789' },
      () => null,
    );
    const model = await provider.getModel('m');
    for (const one of [secret, held, provider, model]) {
      expect(inspect(one, { depth: 9, showHidden: true }) + JSON.stringify(one)).not.toContain('literal-key');
    }
  });
});

describe('a new key needs no restart', () => {
  /** Takes only this key. */
  const wants =
    (key: () => string): Answerer =>
    (to, request) =>
      request.headers.authorization === `Bearer ${key()}`
        ? chats('in')(to, request)
        : status(401, JSON.stringify({ error: { message: `not ${request.headers.authorization}` } }))(to, request);
  const ask = (model: Model) => withTrace('test', () => model.getResponse(requestOf({})));
  const model = (baseURL: string, key: Secret) =>
    new OpenAICompatibleProvider({ baseURL, key }, () => null).getModel('m');

  it('is read again when it is refused, and the request is made again once', async () => {
    let wanted = 'first-key-0123456789';
    await using server = await wireServer(wants(() => wanted));
    const path = fileWith('rotated', wanted);
    const asked = await model(server.url, fileSecret(path));
    await ask(asked);
    wanted = 'second-key-0123456789';
    // Replaced as a vault's agent replaces it: another file under the same name.
    mkdirSync(join(folder, 'next'), { recursive: true });
    renameSync(fileWith('next/rotated', wanted), path);
    await Promise.all([ask(asked), ask(asked), ask(asked)]);
    await ask(asked);
    const sent = server.received.map(({ headers }) => headers.authorization);
    expect(sent.filter((one) => one === 'Bearer first-key-0123456789')).toHaveLength(4);
    expect(sent.filter((one) => one === 'Bearer second-key-0123456789')).toHaveLength(4);
  });

  it('is not sent again when it is still the same', async () => {
    await using server = await wireServer(wants(() => 'another'));
    const asked = await model(server.url, fileSecret(fileWith('same', 'refused-key-0123456789')));
    const error: unknown = await ask(asked).catch((caught: unknown) => caught);
    expect(server.received).toHaveLength(1);
    expect(error).toMatchObject({ code: 'model_failed', message: expect.stringMatching(/not Bearer \[redacted\]/) });
    expect(inspect(error, { depth: 9 })).not.toContain('refused-key');
  });

  it('is not read again for any other failure', async () => {
    let times = 0;
    const secret: Secret = { place: 'a vault', read: async () => `vault-key-${++times}-0123456789` };
    await using server = await wireServer(status(500, 'no'));
    await expect(ask(await model(server.url, secret))).rejects.toThrow(/500/);
    expect(times).toBe(1);
  });

  it.each([401, 403])('covers secrets in headers (%i)', async (code) => {
    let wanted = 'header-one-0123456789';
    await using server = await wireServer((to, request) =>
      request.headers['x-key'] === wanted ? chats('in')(to, request) : status(code, 'no')(to, request),
    );
    const headers = { 'X-Key': { place: 'a vault', read: async () => wanted } };
    const asked = await new OpenAICompatibleProvider({ baseURL: server.url, headers }, () => null).getModel('m');
    await ask(asked);
    wanted = 'header-two-0123456789';
    await ask(asked);
    expect(server.received).toHaveLength(3);
  });
});
