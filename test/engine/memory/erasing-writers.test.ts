import { Agent } from '@openai/agents';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { defineAgent, defineTool, functionModel, memorySpace } from '../../../src/index.js';
import { describeEachDatabase } from '../../harness/database.js';
import { ADMIN, engineFor, restOf } from '../../harness/engine.js';
import { call, outputAfter, say } from '../../harness/script.js';

/** Runs that write one document at once, while some of them are erased: what is left is what the others wrote. */

const facts = memorySpace({ name: 'facts', scope: 'tenant' });
const tally = defineTool({
  ...{ name: 'tally', description: 'Counts.', input: z.object({ who: z.string() }), output: z.json() },
  effect: 'idempotent',
  execute: async ({ who }, { memory }) => {
    await memory.remember('facts', { made: true }, { key: 'tally' });
    const { version } = await memory.revise('facts', 'tally', {
      changes: [
        { op: 'add', path: '/n', by: 1 },
        { op: 'append', path: '/who', values: [who] },
        { op: 'set', path: `/of/${who}`, value: who },
      ],
    });
    return { version };
  },
});
const asWho = (input: unknown): string => /w\d+/.exec(JSON.stringify(input))?.[0] ?? 'nobody';
const agents = [
  defineAgent({
    agent: new Agent({
      ...{ name: 'counter', tools: [tally] },
      model: functionModel('counter', async ({ input }) =>
        outputAfter([[call('tally', { who: asWho(input) }, 't')], [say('done')]], input),
      ),
    }),
    ...{ grants: ['tool:call:*', 'memory:write:*'], memory: [facts] },
  }),
];
const WRITERS = 50;
const isErased = (n: number): boolean => n % 3 === 0;

describeEachDatabase('a document that many runs write', (kind) => {
  const test = engineFor(kind, { agents });

  it(`has what ${WRITERS} of them wrote but for those that are erased meanwhile`, { timeout: 180_000 }, async () => {
    const ids = await Promise.all(
      Array.from({ length: WRITERS }, async (_, n) => {
        const { id } = await test.engine.startRun({ agent: 'counter', input: `w${n}` }, ADMIN);
        return id;
      }),
    );
    const end = async (id: string) => {
      let run = await restOf(test.engine, id);
      while (run.status === 'running' || run.status === 'queued') run = await restOf(test.engine, id);
      return run;
    };
    await Promise.all(
      ids.map(async (id, n) => {
        expect(await end(id)).toMatchObject({ status: 'completed' });
        if (isErased(n)) await test.engine.eraseRun(id, { reason: 'asked for' }, ADMIN);
      }),
    );
    const left = Array.from({ length: WRITERS }, (_, n) => n)
      .filter((n) => !isErased(n))
      .map((n) => `w${n}`);
    const name = { space: 'facts', owner: '', key: 'tally' };
    const shown = await test.engine.getMemory(name, { after: 0, limit: 100 }, ADMIN);
    const { n, who, of } = shown.value as { n: number; who: string[]; of: object };
    expect(n).toBe(left.length);
    expect([...who].sort()).toEqual([...left].sort());
    expect(of).toEqual(Object.fromEntries(left.map((one) => [one, one])));
    expect(shown.integrity).toEqual([]);
    for (const id of ids) expect(await test.engine.verifyRun(id, ADMIN)).toMatchObject({ ok: true, rows: [] });
  });
});
