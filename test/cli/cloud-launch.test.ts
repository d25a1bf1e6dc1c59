import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { APPLICATION, RECORDING_VERSION } from '../../src/engine/dbos/recording-version.js';
import { openDatabase } from '../../src/storage/database/open-database.js';
import { createEngineDatabase, describePostgresSlowly, type TestDatabase } from '../harness/database.js';
import { Program } from './program.js';

const TOKEN = 'a-token-of-16-chars';

/** Takes the place of a package that cannot be installed here: whatever it is asked for is there and does nothing. */
const nothing = (onCall: string): string => `
const any = () => new Proxy(function () {}, {
  get: (_, key) => (typeof key === 'symbol' || key === 'then' ? undefined : any()),
  apply: (_target, _this, args) => ${onCall},
  construct: () => any(),
});
module.exports = any();`;
/** That of tracing runs what is handed to it last. */
const TRACING = nothing(
  `{ const work = args.findLast((arg) => typeof arg === 'function'); return work ? work() : any(); }`,
);
const STAND_INS: { readonly [name: string]: string } = {
  '@dbos-inc/dbos-enterprise': 'exports.ConductorWebsocket = class {};',
  '@opentelemetry/api': TRACING,
  ...Object.fromEntries(
    [
      ...['core', 'context-async-hooks', 'exporter-logs-otlp-proto', 'exporter-trace-otlp-proto', 'sdk-logs'],
      'sdk-trace-base',
    ].map((name) => [`@opentelemetry/${name}`, TRACING]),
  ),
  winston: nothing('any()'),
  'winston-transport': nothing('any()'),
};

describePostgresSlowly('where DBOS__CLOUD is true', () => {
  let dir: string;
  let database: TestDatabase;
  let server: Program | undefined;
  beforeEach(async () => {
    dir = mkdtempSync(join(tmpdir(), 'holdfast-cloud-'));
    const config = "import { demoConfig } from 'holdfast/demo';\nexport default demoConfig();\n";
    writeFileSync(join(dir, 'holdfast.config.mjs'), config);
    database = await createEngineDatabase('postgres');
  });
  afterEach(async () => {
    server?.child.kill('SIGKILL');
    await database.drop();
    rmSync(dir, { recursive: true, force: true });
  });
  const serve = (more: { readonly [name: string]: string } = {}): Program => {
    server = new Program(['serve', '--host', '0.0.0.0', '--port', '0'], {
      cwd: dir,
      env: {
        ...{ DBOS__CLOUD: 'true', DBOS__APPVERSION: '17', DBOS_APP_NAME: 'my-app', DBOS__VMID: 'vm-1' },
        DBOS_SYSTEM_DATABASE_URL: database.options.databaseUrl ?? '',
        HOLDFAST_TOKENS: JSON.stringify([{ token: TOKEN, actor: 'ann', role: 'admin' }]),
        ...more,
      },
    });
    return server;
  };

  it('a server without the enterprise package ends by name', async () => {
    const ended = await serve().ended;
    expect(ended.code).toBe(1);
    expect(ended.stderr).toMatch(
      /^holdfast: [^\n]*@dbos-inc\/dbos-enterprise[^\n]*\(config_invalid\)\n {2}[^\n]*doctor --cloud/,
    );
  });

  it('what fails after DBOS was launched does not keep the process', async () => {
    const { winston: _one, 'winston-transport': _other, ...some } = STAND_INS;
    standIn(some);
    const ended = await serve({ NODE_PATH: dir }).ended;
    expect(ended).toMatchObject({ code: 1, stderr: expect.stringContaining('winston') });
  });

  it('executes runs under the identity of the engine, not under that of the deploy', async () => {
    standIn(STAND_INS);
    const [, port] = await serve({ NODE_PATH: dir }).printed(/url +\S+:(\d+)[\s\S]*agents/);
    const headers = { Authorization: `Bearer ${TOKEN}`, 'Content-Type': 'application/json' };
    const ask = async (path: string, init = {}) =>
      (await (await fetch(`http://127.0.0.1:${port}/api/v1/runs${path}`, { headers, ...init })).json()) as {
        id: string;
        status: string;
      };
    const body = JSON.stringify({ agent: 'treasurer', input: 'Pay the report of May.' });
    const { id } = await ask('', { method: 'POST', body });
    expect(await ask(`/${id}?wait=20`)).toMatchObject({ status: 'paused' });
    const opened = await openDatabase(database.options);
    const identity = {
      executor_id: 'vm-1',
      application_version: String(RECORDING_VERSION),
      application_name: APPLICATION,
    };
    expect(await opened.knex('dbos.workflow_status').first(Object.keys(identity))).toEqual(identity);
    await opened.close();
  });

  function standIn(packages: { readonly [name: string]: string }): void {
    for (const [name, text] of Object.entries(packages)) {
      mkdirSync(join(dir, name), { recursive: true });
      writeFileSync(join(dir, name, 'index.js'), text);
    }
  }
});
