import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { createEngineDatabase, describeEachDatabaseSlowly } from '../harness/database.js';
import type { KillAt } from './place.js';
import { childReport } from './report.js';

const CHILD = join(import.meta.dirname, '../../dist/programs/test/crash/routing-child.js');

async function runChild(env: Readonly<Record<string, string>>, killAt?: KillAt) {
  const { DATABASE_URL: _url, HOLDFAST_DATA_DIR: _dir, ...inherited } = process.env;
  const child = spawn(process.execPath, [CHILD], {
    env: { ...inherited, ...env, ...(killAt === undefined ? {} : { KILL_AT: JSON.stringify(killAt) }) },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let out = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    out += text;
  });
  const [, signal] = await once(child, 'close');
  return { out, signal };
}

describeEachDatabaseSlowly('a process that dies with a run whose models a router chooses', (kind) => {
  it.each([
    // Turn 1 is a's and turn 2 is b's; the next process begins its turns again.
    ['after the choice of turn 2, before its end', 'tool', ['a:0', 'b:1', 'a:2'], 'a b a'],
    ['while the model of turn 2 answers', 'model b', ['a:0', 'b:1', 'a:1', 'b:2'], 'a a b'],
  ])('%s', { timeout: 120_000 }, async (_name, place, asked, output) => {
    const database = await createEngineDatabase(kind);
    const dir = mkdtempSync(join(tmpdir(), 'holdfast-routing-'));
    const { databaseUrl, dataDir } = database.options;
    const env = {
      ...(databaseUrl === null ? { HOLDFAST_DATA_DIR: dataDir } : { DATABASE_URL: databaseUrl }),
      ASKED: join(dir, 'asked'),
    };
    try {
      expect((await runChild(env, { when: 'place', place })).signal).toBe('SIGKILL');
      const { out } = await runChild(env);
      const [run] = childReport.parse(JSON.parse(out));
      expect(run).toMatchObject({ status: 'completed', output, ok: true, complete: true });
      // What was chosen and answered is not chosen again: no one is asked twice for an answer that is there.
      expect(readFileSync(env.ASKED, 'utf8').trim().split('\n')).toEqual(asked);
      const routes = run?.events.flatMap(({ kind, data }) => (kind === 'model.responded' ? [data] : []));
      const models = output.split(' ').map((name) => ({ route: { router: 'turns', model: `lab/${name}` } }));
      expect(routes).toMatchObject(models);
    } finally {
      rmSync(dir, { recursive: true });
      await database.drop();
    }
  });
});
