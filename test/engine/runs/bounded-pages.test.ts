import { Agent } from '@openai/agents';
import { expect, test } from 'vitest';
import { defineAgent } from '../../../src/index.js';
import { describeEachDatabase } from '../../harness/database.js';
import { ADMIN, engineFor, runToRest } from '../../harness/engine.js';
import { say, scripted } from '../../harness/script.js';
import { SLOW } from '../../harness/slow.js';

const PAGE = 4 * 1024 * 1024;
const TEXT = 'long '.repeat(120_000);
const NINE = [0, 1, 2, 3, 4, 5, 6, 7, 8];
const DAY = '2026-01-01';
const ENTRIES = 1_000_000;

/** Together they are larger than a page. */
const AGENTS = Array.from({ length: 12 }, (_, at) =>
  defineAgent({
    agent: new Agent({ name: `agent${at}`, model: scripted([[say('done')]]) }),
    grants: Array.from({ length: 120 }, (_one, n) => `files:read:/${at}/${n}/${`${'d'.repeat(200)}/`.repeat(20)}x`),
  }),
);

interface Page {
  readonly items: readonly unknown[];
  readonly nextCursor: string | null;
}
type Ask = (options: { readonly limit: number; readonly cursor?: string }) => Promise<Page>;

describeEachDatabase('lists whose rows are long', (kind) => {
  const t = engineFor(kind, { agents: AGENTS });

  async function all(ask: Ask, cursor?: string): Promise<{ readonly pages: number; readonly items: unknown[] }> {
    const page = await ask({ limit: 200, ...(cursor === undefined ? {} : { cursor }) });
    if (page.items.length > 1) expect(JSON.stringify(page.items).length).toBeLessThan(PAGE + 100_000);
    if (page.nextCursor === null) return { pages: 1, items: [...page.items] };
    const rest = await all(ask, page.nextCursor);
    return { pages: rest.pages + 1, items: [...page.items, ...rest.items] };
  }

  test.runIf(SLOW)('have pages that are bounded in bytes, and lead to all of it', async () => {
    const { id: runId } = await runToRest(t.engine, 'agent0');
    await t.between(async (knex) => {
      for (const at of NINE) {
        const attempt = { run_id: runId, turn: 1000 + at, execution: 'x', attempt: 1, tenant: 'default', day: DAY };
        await knex('holdfast.charges').insert({ ...attempt, agent: `${at}${TEXT}`, model: 'm', state: 'unpriced' });
        const worker = { epoch: 1, pid: 1, role: 'worker', capacity: 1, recording_version: 1 };
        const gone = { stopped_at: knex.fn.now(), told_status: 'stopped' };
        await knex('holdfast.workers').insert({ ...worker, ...gone, id: `w${at}`, build: TEXT });
        const standing = { run_id: runId, tenant: 'default', interruption_id: `int_${at}`, agent: 'a', tool: 't' };
        await knex('holdfast.standing_decisions').insert({
          ...{
            ...standing,
            id: `std_${at}`,
            tool_version: '1',
            scope: JSON.stringify([TEXT]),
            exact: true,
            actor: 'x',
          },
        });
        const hash = 'a'.repeat(64);
        const lost = { run_id: `gone${at}`, tenant: 'default', seq: 1, hash, hashes: hash, loss: 'removed' };
        await knex('holdfast.log_entries').insert({ ...lost, index: ENTRIES + at, actor: 'x', reason: TEXT });
      }
    });
    const charges = await all(({ limit, cursor }) =>
      t.engine.listCharges(runId, { limit, after: Number(cursor ?? 0) }, ADMIN),
    );
    expect(charges.items).toMatchObject([{ turn: 1 }, ...NINE.map((at) => ({ turn: 1000 + at }))]);
    const spend = await all((filter) => t.engine.listSpend({ ...filter, by: 'agent', from: DAY, to: DAY }, ADMIN));
    expect(spend.items).toMatchObject(NINE.map((at) => ({ name: `${at}${TEXT}`, charges: 1 })));
    const workers = await all((filter) => t.engine.listWorkers(filter));
    expect(workers.items.slice(-9)).toMatchObject(NINE.map((at) => ({ id: `w${at}` })));
    const standing = await all((filter) => t.engine.listStandingDecisions(runId, filter, ADMIN));
    expect(standing.items).toMatchObject(NINE.map((at) => ({ id: `std_${at}` })));
    const entries = await all(
      ({ limit, cursor }) => t.engine.listLogEntries({ limit, after: Number(cursor) }, ADMIN),
      String(ENTRIES),
    );
    expect(entries.items).toMatchObject(NINE.map((at) => ({ index: ENTRIES + at })));
    const agents = await all((filter) => t.engine.listAgents(filter, ADMIN));
    expect(agents.items).toMatchObject(AGENTS.map(({ agent: { name } }) => ({ name, marks: [] })));
    for (const [list, { pages }] of Object.entries({ charges, spend, workers, standing, entries, agents }))
      expect(pages, list).toBeGreaterThan(1);
  });

  test('go on after no agent that is not there', async () => {
    const cursor = Buffer.from('nobody').toString('base64url');
    await expect(t.engine.listAgents({ limit: 1, cursor }, ADMIN)).rejects.toMatchObject({ code: 'invalid_request' });
  });
});
