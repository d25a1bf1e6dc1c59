import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Agent, MCPServerStdio, MCPServerStreamableHttp } from '@openai/agents';
import { afterAll, expect, it, vi } from 'vitest';
import { z } from 'zod';
import { knowAll } from '../../../src/engine/secrets/declared-secrets.js';
import {
  defineAgent,
  defineTool,
  functionModel,
  type HoldfastConfig,
  openaiCompatible,
  secret,
} from '../../../src/index.js';
import { withoutKnownSecrets } from '../../../src/models/secrets/known-secrets.js';
import { ended, rowsIn } from '../../export/exported.js';
import { describeEachDatabase } from '../../harness/database.js';
import { ADMIN, engineFor, eventsOf, runToRest } from '../../harness/engine.js';
import { call, say, scripted } from '../../harness/script.js';

/** Secrets that are declared and that nothing has used yet. */

const scratch = mkdtempSync(join(tmpdir(), 'holdfast-secrets-'));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

const KEYS = {
  file: 'Fk83mZq0LpXw72Tb',
  variable: 'Vr19nHs6QdYc45Ge',
  command: 'Cm57bJu3KaRf08Wi',
  setting: 'St62vOx9PgNe31Dl',
  settingFile: 'Sf40yTh7MjBq96Ku',
  address: 'Ad78/eIw2:Vz54Xc',
  store: 'Os23cUa8RlFy67Mt',
  environment: 'En95gDk1ZsHo38Pv',
  mcpVariable: 'Mv11xBn6WtJr72Qe',
  mcpHeader: 'Mh84pLy5CfUd29Gz',
  mcpAddress: 'Ma30sEi9KqTa51Rb',
  token: 'Tk66wGm2OvPh83Nj',
} as const;
const ALL = Object.values(KEYS);

const file = join(scratch, 'key');
writeFileSync(file, `${KEYS.file}\n`);
writeFileSync(join(scratch, 'setting'), KEYS.settingFile);
vi.stubEnv('TEST_DECLARED_KEY', KEYS.variable);
vi.stubEnv('MISTRAL_API_KEY', KEYS.setting);
vi.stubEnv('XAI_API_KEY_FILE', join(scratch, 'setting'));
/** As other programs write JSON. */
const ESCAPED = 'Es17/xJb6"GtVo92Yc\\';
const escaped = JSON.stringify({ token: ESCAPED, actor: 'bob', role: 'admin' }).replaceAll('/', '\\/');
vi.stubEnv('HOLDFAST_TOKENS', `[${JSON.stringify({ token: KEYS.token, actor: 'ann', role: 'admin' })}, ${escaped}]`);
afterAll(() => vi.unstubAllEnvs());

const SAID = [
  ...ALL,
  ...ALL.flatMap((key) => [encodeURIComponent(key), Buffer.from(`user:${key}`).toString('base64')]),
  ...ALL.map((key) => Buffer.from(key).toString('hex').toUpperCase()),
].join(' ');
const shown = (text: string): string[] =>
  ALL.flatMap((key) => [key, encodeURIComponent(key), Buffer.from(key).toString('hex').toUpperCase()]).filter((form) =>
    text.includes(form),
  );

const tool = (name: string, execute: () => string) =>
  defineTool({ name, description: name, input: z.object({}), output: z.string(), effect: 'pure', execute });
const tools = [
  tool('fails', () => {
    throw new Error(`connection refused: ${SAID}`);
  }),
  tool('says', () => SAID),
];
const model = scripted([[call('fails', {}, 'c1')], [call('says', {}, 'c2')], [say(`It was ${SAID}.`)]]);
const broken = functionModel('broken', async () => {
  throw new Error(`no route: ${SAID}`);
});
const mcpServers = [
  new MCPServerStdio({ command: 'none', args: [], env: { LAB_TOKEN: KEYS.mcpVariable } }),
  new MCPServerStreamableHttp({
    url: `https://host/?access_token=${KEYS.mcpAddress}`,
    requestInit: { headers: { Authorization: `Bearer ${KEYS.mcpHeader}` } },
  }),
];
/** Found behind a tool only, where the SDK keeps it to itself. */
const BEHIND = 'Bh75zFk0YtSn29Wv';
const behind = new Agent({
  ...{ name: 'behind', model },
  mcpServers: [
    new MCPServerStreamableHttp({
      ...{ name: 'behind', url: 'http://127.0.0.1:9/' },
      requestInit: { headers: { Authorization: `Bearer ${BEHIND}` } },
    }),
  ],
}).asTool({ toolName: 'behind', toolDescription: 'Asks behind.' });
const outer = scripted([[call('behind', { input: 'go' }, 'b1')], [say('done')]]);
const GRANTS = ['tool:call:fails', 'tool:call:says'];
const config: HoldfastConfig & { objectStore: object; exportDir: string } = {
  agents: [
    defineAgent({ agent: new Agent({ name: 'worker', model, tools }), grants: GRANTS }),
    defineAgent({
      agent: new Agent({ name: 'served', model, mcpServers }),
      environment: { image: 'none', secrets: { one: secret.command(['echo', KEYS.environment]) } },
    }),
    defineAgent({ agent: new Agent({ name: 'breaks', model: broken }) }),
    defineAgent({ agent: new Agent({ name: 'outer', model: outer, tools: [behind] }), grants: ['tool:call:behind'] }),
  ],
  providers: {
    lab: openaiCompatible({ baseURL: 'https://lab.example/v1', key: secret.file(file) }),
    other: openaiCompatible({
      baseURL: `https://ann:${encodeURIComponent(KEYS.address)}@other.example/v1`,
      headers: { 'X-Org': secret.env('TEST_DECLARED_KEY'), 'X-More': secret.command(['echo', KEYS.command]) },
    }),
  },
  objectStore: { accessKeyId: 'AKIA', secretAccessKey: KEYS.store },
  exportDir: join(scratch, 'exports'),
};

describeEachDatabase('a secret that is declared and was not used', (kind) => {
  const t = engineFor(kind, { ...config, exportDir: join(scratch, kind) });

  it('is in no event, no answer, no trajectory and no export of a run whose tools and model say it', async () => {
    const run = await runToRest(t.engine, 'worker');
    expect(run.status).toBe('completed');
    const said = [
      JSON.stringify(run),
      JSON.stringify(await eventsOf(t.engine, run.id)),
      JSON.stringify(await t.engine.getTrajectory(run.id, ADMIN)),
    ];
    const folder = `${kind}-folder`;
    const request = { format: 'messages', to: { folder }, options: { deduplicate: false } } as const;
    const view = await ended(t.engine, await t.engine.startExport(request, ADMIN));
    expect(view.error).toBeNull();
    const rows = view.files.flatMap(({ path }) => rowsIn(join(view.folder, path)));
    expect(rows.length).toBeGreaterThan(0);
    said.push(JSON.stringify(rows), ...filesIn(view.folder));
    expect(said.flatMap(shown)).toEqual([]);
    expect(said[1]).toContain('connection refused: [redacted]');
  });

  it('is known once the server of an agent behind a tool is reached for', async () => {
    await runToRest(t.engine, 'outer');
    expect(withoutKnownSecrets(BEHIND)).toBe('[redacted]');
  });

  it('is in no error of a run', async () => {
    const run = await runToRest(t.engine, 'breaks');
    expect(run.status).toBe('failed');
    expect(shown(JSON.stringify([run, await eventsOf(t.engine, run.id)]))).toEqual([]);
  });
});

const filesIn = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => readFileSync(join(entry.parentPath, entry.name), 'latin1'));

it('that is written with escapes in a list of tokens is known as what it says', () => {
  expect(withoutKnownSecrets(ESCAPED)).toBe('[redacted]');
});

it('that cannot be read is named by its place; one that is not there holds nothing', async () => {
  const unread = await knowAll([
    secret.command(['false']),
    secret.env('TEST_NOT_SET'),
    secret.file(join(scratch, 'none')),
    secret.command(['echo', 'Lt47hCv0YiSm86Ox']),
  ]);
  expect(unread).toEqual(['the command false']);
  expect(withoutKnownSecrets('Lt47hCv0YiSm86Ox')).toBe('[redacted]');
});
