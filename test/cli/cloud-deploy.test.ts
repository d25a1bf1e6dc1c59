import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { cloudArchive } from '../../src/cli/doctor/check-cloud.js';
import { ROOT } from '../docs/pages.js';
import { createEngineDatabase, describePostgresSlowly, type TestDatabase } from '../harness/database.js';
import { clean } from './program.js';

/**
 * What DBOS Cloud does with this repository, as far as that can be done here: it builds what is uploaded, starts it by
 * `dbos start` with the variables that it sets, and stops it. Without DBOS__CLOUD, under which the SDK needs a package that
 * npm does not have.
 */
describePostgresSlowly('a deploy', () => {
  let dir: string;
  let database: TestDatabase;
  let server: ChildProcess | undefined;
  beforeEach(async () => {
    dir = mkdtempSync(join(tmpdir(), 'holdfast-cloud-'));
    database = await createEngineDatabase('postgres');
  });
  afterEach(async () => {
    server?.kill('SIGKILL');
    await database.drop();
    rmSync(dir, { recursive: true, force: true });
  });

  it('builds from the archive, serves everywhere with tokens, and stops by itself after SIGTERM', async () => {
    for (const path of cloudArchive(ROOT).files) cpSync(join(ROOT, path), join(dir, path));
    symlinkSync(join(ROOT, 'node_modules'), join(dir, 'node_modules'));
    const built = spawnSync('npm', ['run', 'build'], { cwd: dir, encoding: 'utf8' });
    expect(built.status, built.stdout + built.stderr).toBe(0);

    const config = readFileSync(join(dir, 'dbos-config.yaml'), 'utf8');
    expect(config).toContain('--host 0.0.0.0 --port 3000');
    writeFileSync(join(dir, 'dbos-config.yaml'), config.replace('--port 3000', '--port 0'));
    const token = 'a-token-of-16-chars';
    server = spawn(process.execPath, ['node_modules/@dbos-inc/dbos-sdk/dist/src/cli/cli.js', 'start'], {
      cwd: dir,
      env: clean({
        ...{ DBOS_SYSTEM_DATABASE_URL: database.options.databaseUrl ?? '', DBOS__VMID: 'vm-1', DBOS__APPVERSION: '17' },
        HOLDFAST_TOKENS: JSON.stringify([{ token, actor: 'ann', role: 'admin' }]),
      }),
    });
    let said = '';
    server.stdout?.setEncoding('utf8').on('data', (text: string) => {
      said += text;
    });
    await expect.poll(() => said).toMatch(/url +\S+:\d+[\s\S]*agents/);
    const port = /url +\S+:(\d+)/.exec(said)?.[1];
    const api = `http://127.0.0.1:${port}/api/v1`;
    const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' };
    const body = JSON.stringify({ agent: 'treasurer', input: 'Pay the report of May.' });
    const ask = async (path: string, init = {}) =>
      (await (await fetch(`${api}${path}`, { headers, ...init })).json()) as { id: string; status: string };
    const { id } = await ask('/runs', { method: 'POST', body });
    expect(['paused', 'completed']).toContain((await ask(`/runs/${id}?wait=20`)).status);
    expect((await fetch(`${api}/runs`)).status).toBe(401);

    server.kill('SIGTERM');
    // The program of the SDK stays when its command has ended.
    await expect.poll(() => said).toContain('exited successfully with code 0');
  }, 240_000);
});
