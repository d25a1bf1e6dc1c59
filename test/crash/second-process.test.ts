import { join } from 'node:path';
import { expect, it } from 'vitest';
import { createEngineDatabase, describeEachDatabaseSlowly } from '../harness/database.js';
import { stopped } from './other-process.js';
import { startChild } from './run-child.js';
import { effectsIn } from './world.js';

describeEachDatabaseSlowly('a second process', (kind) => {
  it('is refused a data directory while the first lives; a frozen worker is replaced; it goes on after its death', async () => {
    const database = await createEngineDatabase(kind);
    const { databaseUrl, dataDir } = database.options;
    const env = {
      ...(databaseUrl === null ? { HOLDFAST_DATA_DIR: dataDir } : { DATABASE_URL: databaseUrl }),
      EFFECTS_FILE: join(dataDir, 'effects'),
    };
    const first = startChild(env, { when: 'stop', place: 'model:1' });
    await stopped(first.pid);
    const second = await startChild(env).ended;
    if (kind === 'pglite')
      expect(second).toMatchObject({ code: 3, stderr: expect.stringContaining('data_dir_in_use') });
    else expect(second.runs, second.stderr).toMatchObject([{ status: 'completed', ok: true, complete: true }]);
    process.kill(first.pid, 'SIGKILL');
    await first.ended;
    const third = await startChild(env).ended;
    expect(third.runs, third.stderr).toMatchObject([{ status: 'completed', ok: true, complete: true }]);
    expect(effectsIn(join(dataDir, 'effects')).toSorted()).toEqual([
      ...['look:call_look', 'pay:call_pay', 'put:call_put', 'transfer:call_transfer', 'wire:call_wire'],
    ]);
    await database.drop();
  }, 90_000);
});
