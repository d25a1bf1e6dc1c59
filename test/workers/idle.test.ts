import { setTimeout as sleep } from 'node:timers/promises';
import { Agent } from '@openai/agents';
import pg from 'pg';
import { beforeAll, expect, it, vi } from 'vitest';
import { z } from 'zod';
import { defineAgent, defineTool } from '../../src/index.js';
import { cloneWaiting } from '../bench/clone-waiting.js';
import { describePostgres } from '../harness/database.js';
import { ADMIN, engineFor, pendingOf, restOf, runToRest } from '../harness/engine.js';
import { call, scripted } from '../harness/script.js';

/** What a worker asks its database while thousands of runs wait for people. */

const WAITING = 2000;
/** Long enough for everything that a worker does again and again but the hourly. */
const WATCH_MS = 6500;
/** A statement that reads an index of all of these runs reads more pages, and one that reads the runs ten times as many. */
const PAGES_MAX = 15;
/** Of a statement that writes: its row goes into indexes too. */
const WRITTEN_MAX = 30;

const ask = defineTool({
  ...{ name: 'ask', description: 'Asks.', input: z.object({}), output: z.string(), effect: 'pure' },
  approval: true,
  execute: () => 'yes',
});
const asker = defineAgent({
  agent: new Agent({ name: 'asker', model: scripted([[call('ask', {})]]), tools: [ask] }),
  grants: ['tool:call:*'],
});

type Statement = { readonly text: string; readonly values: unknown[] };

function statementOf([query, values]: readonly unknown[]): Statement | null {
  const { text = query, values: inside = values } =
    typeof query === 'object' && query !== null ? (query as Partial<Statement>) : {};
  return typeof text === 'string' ? { text, values: Array.isArray(inside) ? inside : [] } : null;
}

describePostgres('an idle worker', () => {
  const t = engineFor('postgres', { agents: [asker] });
  let waits = '';

  const hourlyIsDone = async () => {
    const { nextAt } = await t.engine.previewRetention(ADMIN);
    expect(Date.parse(nextAt ?? '') - Date.now()).toBeGreaterThan(1_800_000);
  };

  beforeAll(async () => {
    waits = (await runToRest(t.engine, 'asker')).id;
    await t.between((knex) => cloneWaiting(async (sql) => (await knex.raw(sql)).rows, 'holdfast', WAITING));
    await vi.waitFor(hourlyIsDone, { timeout: 30_000, interval: 200 });
  }, 120_000);

  it('asks nothing for each run that waits, and reads little for what it asks', async () => {
    const query = vi.spyOn(pg.Client.prototype, 'query');
    await sleep(WATCH_MS);
    const asked = query.mock.calls.flatMap((given: readonly unknown[]) => statementOf(given) ?? []);
    query.mockRestore();
    expect(asked.length).toBeGreaterThan(10);
    expect(asked.length).toBeLessThan(WAITING / 10);
    const selects = new Map(asked.flatMap((one) => (/^\s*(select|with)\b/i.test(one.text) ? [[one.text, one]] : [])));
    const pages = await t.between(async (knex) => {
      const connection: pg.Client = await knex.client.acquireConnection();
      const read: Record<string, number> = {};
      for (const { text, values } of selects.values()) {
        const { rows } = await connection.query(`explain (analyze, buffers, format json) ${text}`, values);
        const { Plan: plan } = rows[0]['QUERY PLAN'][0];
        read[text] = plan['Shared Hit Blocks'] + plan['Shared Read Blocks'];
      }
      await knex.client.releaseConnection(connection);
      return read;
    });
    // What is due, whose time is over, what is stranded, and the tasks of events that are placed.
    expect(Object.keys(pages).filter((text) => /holdfast\.runs|"timers"/.test(text))).toHaveLength(4);
    const most = (text: string): number => (/\binsert into\b/i.test(text) ? WRITTEN_MAX : PAGES_MAX);
    expect(Object.entries(pages).filter(([text, count]) => count > most(text))).toEqual([]);
  });

  it('finds the one that was decided, and the rest waits on', async () => {
    const pending = await pendingOf(t.engine, waits, 'ask');
    await t.engine.decide(pending?.id ?? '', { verdict: 'approve' }, ADMIN);
    expect(await restOf(t.engine, waits)).toMatchObject({ status: 'completed' });
    expect((await t.engine.stats(ADMIN)).runs).toMatchObject({ paused: WAITING, completed: 1 });
  });
});
