import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Agent } from '@openai/agents';
import { afterAll, afterEach, expect, it } from 'vitest';
import { defineAgent, secret, stdioServer } from '../../src/index.js';
import { describeEachDatabase } from '../harness/database.js';
import { ADMIN, dataOf, engineFor, eventsOf, restOf } from '../harness/engine.js';
import { call, scripted } from '../harness/script.js';
import { SLOW } from '../harness/slow.js';

const PROGRAM = join(import.meta.dirname, '../../dist/test/mcp/environment-server.js');
const dir = mkdtempSync(join(tmpdir(), 'holdfast-mcp-'));
afterAll(() => rmSync(dir, { recursive: true, force: true }));
const file = join(dir, 'token');
const FIRST = 'first-token-6b1f0d2c9a';
const SECOND = 'second-token-0c77e1d5b3';
writeFileSync(file, FIRST);

/** What no one stated, in the environment of the process that starts servers. */
process.env['HOLDFAST_TEST_UNSTATED'] = 'not for a server';
process.env['HOLDFAST_TEST_STATED'] = 'for a server';
afterAll(() => {
  delete process.env['HOLDFAST_TEST_UNSTATED'];
  delete process.env['HOLDFAST_TEST_STATED'];
});

const digestOf = (text: string): string => createHash('sha256').update(text).digest('hex');
const server = stdioServer({
  ...{ name: 'looker', command: process.execPath, args: [PROGRAM], clientSessionTimeoutSeconds: 60 },
  env: { TOKEN: secret.file(file), PLAIN: 'plain' },
  inherit: ['HOLDFAST_TEST_STATED', 'HOLDFAST_TEST_NOT_SET'],
});
const agents = [
  defineAgent({
    agent: new Agent({ name: 'clerk', mcpServers: [server], model: scripted([[call('look', {})]]) }),
    grants: ['mcp:call:looker/*'],
  }),
];
const STATED = ['HOLDFAST_TEST_STATED', 'PLAIN', 'TOKEN'];
/** What the Agents SDK gives to every server. */
const ALWAYS = ['HOME', 'LOGNAME', 'PATH', 'SHELL', 'TERM', 'USER'];

describeEachDatabase('a server over stdio', (kind) => {
  const t = engineFor(kind, { agents });
  afterEach(() => writeFileSync(file, FIRST));

  const looked = async () => {
    const { id } = await t.engine.startRun({ agent: 'clerk', input: 'go' }, ADMIN);
    await expect.poll(async () => (await restOf(t.engine, id)).status, { timeout: 60_000 }).toBe('completed');
    const [finished] = await dataOf(t.engine, id, 'call.finished');
    const text = JSON.stringify(finished?.['outcome']);
    return { id, text, names: ALWAYS.concat(STATED, 'HOLDFAST_TEST_UNSTATED').filter((name) => text.includes(name)) };
  };

  it.runIf(SLOW)(
    'has the secrets that are named, the variables that are stated, and no others of the process',
    async () => {
      const { id, text, names } = await looked();
      expect(text).toContain(digestOf(FIRST));
      expect(text).toContain('plain');
      expect(names).toEqual(expect.arrayContaining(STATED));
      expect(names).not.toContain('HOLDFAST_TEST_UNSTATED');
      const log = JSON.stringify(await eventsOf(t.engine, id));
      expect(log).not.toContain(FIRST);
      expect(JSON.stringify(server)).not.toContain(FIRST);
      const stored = await t.between(async (knex) => JSON.stringify(await knex('holdfast.agents').select('*')));
      expect(stored).toContain('looker');
      expect(stored).not.toContain(FIRST);
    },
  );

  it('is started again with what the secret is by then', async () => {
    await server.close();
    writeFileSync(file, SECOND);
    expect((await looked()).text).toContain(digestOf(SECOND));
  });
});

it('is refused by name where its environment cannot be', () => {
  const made = (more: object) => () => stdioServer({ name: 'looker', command: 'node', ...more });
  expect(made({ env: { 'A=B': 'x' } })).toThrow(/env.*name of an environment variable/s);
  expect(made({ env: { TOKEN: 7 } })).toThrow(/secret\.env/);
  expect(made({ env: { TOKEN: secret.env('NO NAME') } })).toThrow(/name of an environment variable/);
  expect(made({ inherit: ['A=B'] })).toThrow(/inherit.*name of an environment variable/s);
});

it('is not started where a secret cannot be read, and says which', async () => {
  const away = stdioServer({
    name: 'looker',
    command: process.execPath,
    env: { TOKEN: secret.file(join(dir, 'away')) },
  });
  await expect(away.connect()).rejects.toMatchObject({
    ...{ code: 'secret_unreadable', message: expect.stringContaining(join(dir, 'away')) },
  });
});
