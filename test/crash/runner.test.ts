import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { createEngineDatabase, describeEachDatabase } from '../harness/database.js';

const PROGRAM = join(import.meta.dirname, '../../dist/programs/test/crash/runner-child.js');

async function program(env: Readonly<Record<string, string>>) {
  const { DATABASE_URL: _url, HOLDFAST_DATA_DIR: _dir, ...inherited } = process.env;
  const child = spawn(process.execPath, [PROGRAM], {
    env: { ...inherited, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let said = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    said += text;
  });
  const [code, signal] = await once(child, 'close');
  return { code, signal, said };
}

describeEachDatabase('a program of the Agents SDK under HoldfastRunner', (kind) => {
  it('goes on with its run in a second process after kill -9, and both end by themselves', async () => {
    const database = await createEngineDatabase(kind);
    const { databaseUrl, dataDir } = database.options;
    const effects = join(dataDir, 'effects');
    const env = {
      ...(databaseUrl === null ? { HOLDFAST_DATA_DIR: dataDir } : { DATABASE_URL: databaseUrl }),
      EFFECTS_FILE: effects,
    };
    expect(await program({ ...env, DIE: '1' })).toEqual({ code: null, signal: 'SIGKILL', said: '' });
    const second = await program(env);
    expect(second).toMatchObject({ code: 0, said: expect.stringContaining('It is noted.') });
    expect(await program(env)).toEqual(second);
    expect(readFileSync(effects, 'utf8')).toBe('once\n');
    await database.drop();
  });
});
