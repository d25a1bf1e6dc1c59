import { Agent } from '@openai/agents';
import type { Knex } from 'knex';
import { beforeEach, expect, it } from 'vitest';
import { z } from 'zod';
import { defineAgent, defineTool, functionModel } from '../../../src/index.js';
import { describeEachDatabase } from '../../harness/database.js';
import { ADMIN, dataOf, engineFor, restOf } from '../../harness/engine.js';
import { call, resultsIn, say } from '../../harness/script.js';

/** A long outcome stands in the row of its call: the step that DBOS keeps refers to it, also where another process goes on. */

const LONG = 'a line of a document\n'.repeat(20_000);
const LINES = { lines: Array.from({ length: 20_000 }, (_, n) => `line ${n}`) };

let executed: string[] = [];
let heard: number[] = [];
/** Holds the second call of a run until it is let go. */
let isHeld = true;

const shape = { input: z.object({}), maxOutputBytes: 4 * 1024 * 1024 };
const reading = (name: string, effect: 'pure' | 'unsafe', output: unknown) =>
  defineTool({
    ...{ ...shape, name, description: 'Reads.', effect, output: z.unknown() },
    execute: async () => {
      executed.push(name);
      return output;
    },
  });
const hold = defineTool({
  ...{ ...shape, name: 'hold', description: 'Holds.', effect: 'pure', output: z.string() },
  execute: async (_input, { signal }) => {
    executed.push('hold');
    if (isHeld) await new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('stopped'))));
    return 'held';
  },
});
const tools = [reading('read', 'pure', LONG), reading('list', 'pure', LINES), reading('take', 'unsafe', LONG), hold];

const agentOf = (name: string) =>
  defineAgent({
    agent: new Agent({
      ...{ name, tools },
      model: functionModel(name, ({ input }) => {
        const results = resultsIn(input);
        heard = results.map(({ text }) => text.length);
        return [[call(name, {}, 'c0')], [call('hold', {}, 'c1')]][results.length] ?? [say('done')];
      }),
    }),
    grants: ['tool:call:*'],
  });

describeEachDatabase('a long outcome of a call', (kind) => {
  const t = engineFor(kind, { agents: ['read', 'list', 'take'].map(agentOf) });
  beforeEach(() => {
    executed = [];
    isHeld = true;
  });

  /** A run whose first call has ended, and whose second one is at work. */
  async function halfDone(agent: string): Promise<string> {
    const { id } = await t.engine.startRun({ agent, input: 'go' }, ADMIN);
    await expect.poll(() => executed, { timeout: 20_000 }).toContain('hold');
    return id;
  }
  const bytesIn = async (knex: Knex, id: string) => {
    const { rows }: { rows: { step: number; row: number }[] } = await knex.raw(
      `select octet_length(o.output) as step, octet_length(c.outcome) as row
         from dbos.operation_outputs o join holdfast.calls c on c.run_id = o.workflow_uuid
        where o.workflow_uuid = ? and c.call_id = 'c0' and o.function_name like 'tool:%:c0'`,
      [id],
    );
    return rows[0];
  };

  it.each(['read', 'list', 'take'])(
    'of %s is stored once beside the log, and a worker goes on with it',
    async (agent) => {
      const id = await halfDone(agent);
      const bytes = await t.between((knex) => {
        isHeld = false;
        return bytesIn(knex, id);
      });
      expect(bytes?.step).toBeLessThan(1000);
      expect(bytes?.row).toBeGreaterThan(200_000);
      expect(await restOf(t.engine, id)).toMatchObject({ status: 'completed', output: 'done' });
      expect(executed.filter((name) => name === agent)).toHaveLength(1);
      const output = agent === 'list' ? LINES : LONG;
      const [first] = await dataOf(t.engine, id, 'call.finished');
      expect(first).toMatchObject({ callId: 'c0', outcome: { type: 'output', output } });
      expect(heard[0]).toBe(typeof output === 'string' ? output.length : JSON.stringify(output).length);
      expect(await t.engine.verifyRun(id, ADMIN)).toMatchObject({ ok: true, complete: true });
    },
  );

  it('fails the run where its row has another one, and nothing executes again', async () => {
    const id = await halfDone('read');
    await t.between(async (knex) => {
      isHeld = false;
      await knex.raw(`update holdfast.calls set outcome = '{"output":"forged","type":"output"}' where run_id = ?`, [
        id,
      ]);
    });
    // Where later steps are recorded, DBOS finds the end of the segment in the place of one of them.
    const { status, error } = await restOf(t.engine, id);
    expect(status).toBe('failed');
    expect(['row_changed', 'replay_diverged']).toContain(error?.code);
    expect(executed).toEqual(['read', 'hold']);
  });
});
