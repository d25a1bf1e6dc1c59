import { setTimeout as sleep } from 'node:timers/promises';
import { Agent } from '@openai/agents';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { createEngine, defineAgent, defineTool, type Engine } from '../../src/index.js';
import { ADMIN, dataOf, restOf } from '../harness/engine.js';
import { call, scripted } from '../harness/script.js';
import { SLOW } from '../harness/slow.js';
import { noSmallDisk, openSmallDisk, type SmallDisk } from '../harness/small-disk.js';

const DISK_MB = 120;
const PAYMENTS = 20;
const why = SLOW ? noSmallDisk() : 'slow: HOLDFAST_TEST_SLOW=1 runs it';

let paid: string[] = [];
const pay = defineTool({
  ...{ name: 'pay', description: 'Pays.', input: z.object({ n: z.number() }), output: z.string(), effect: 'unsafe' },
  execute: (_input, { idempotencyKey }) => {
    paid.push(idempotencyKey);
    // Long enough to need room.
    return 'paid '.repeat(1000);
  },
});
const outputs = Array.from({ length: PAYMENTS }, (_, n) => [call('pay', { n }, `pay_${n}`)]);
const agents = [
  defineAgent({
    agent: new Agent({ name: 'payer', tools: [pay], model: scripted(outputs, 20) }),
    grants: ['tool:call:*'],
  }),
];

describe.skipIf(why !== null)(
  `a process whose embedded database has a full disk${why === null ? '' : ` (${why})`}`,
  () => {
    let disk: SmallDisk;
    let engine: Engine;
    const logged: string[] = [];
    beforeEach(async () => {
      paid = [];
      disk = openSmallDisk(DISK_MB);
      const quiet = (): void => {};
      const warn = (fields: object, message: string): void => void logged.push(`${message} ${JSON.stringify(fields)}`);
      const log = { debug: quiet, info: quiet, warn, error: warn };
      engine = await createEngine({ agents, databaseUrl: null, dataDir: disk.dir, workerId: 'test', log });
    });
    afterEach(async () => {
      await engine.stop({ graceMs: 0 });
      disk.close();
    });

    it('waits until there is room again, and goes on', { timeout: 120_000 }, async () => {
      const ids = await Promise.all(
        [1, 2, 3].map(async () => (await engine.startRun({ agent: 'payer', input: 'go' }, ADMIN)).id),
      );
      await expect.poll(() => paid.length, { timeout: 20_000, interval: 10 }).toBeGreaterThan(2);
      disk.fill();
      await expect.poll(() => logged.join('\n')).toMatch(/the database has no room.*No space left on device/);
      await expect.poll(() => engine.isReady()).toBe(false);
      expect(await engine.health()).toMatchObject({
        status: 'fail',
        checks: { database: { status: 'fail', detail: 'The database has no room for what it was to keep.' } },
      });
      await sleep(4000);
      expect(paid.length).toBeLessThan(ids.length * PAYMENTS);
      disk.makeRoom();
      await expect.poll(() => engine.isReady()).toBe(true);
      for (const id of ids) {
        expect(await restOf(engine, id)).toMatchObject({ status: 'completed' });
        expect(await engine.verifyRun(id, ADMIN)).toMatchObject({ ok: true, complete: true });
        expect(await dataOf(engine, id, 'call.unknown')).toEqual([]);
        expect(paid.filter((key) => key.startsWith(id))).toEqual(outputs.map((_, n) => `${id}:pay_${n}`));
      }
    });
  },
);
