import pg from 'pg';
import { expect, test } from 'vitest';
import { describeBrowser } from '../harness/browser.js';
import { describePostgres } from '../harness/database.js';
import { CONSOLE_AGENTS } from './agents.js';
import { openSite } from './open-site.js';

describePostgres('rows that someone changed', () => {
  describeBrowser('in lists of the console', () => {
    const site = openSite(CONSOLE_AGENTS, {}, 'postgres');
    const change = async (sql: string): Promise<void> => {
      const client = new pg.Client({ connectionString: site.door.database.options.databaseUrl ?? '' });
      await client.connect();
      const { rowCount } = await client.query(sql);
      await client.end();
      expect(rowCount).toBe(1);
    };

    test('are named, and the others are shown', async () => {
      const ids: string[] = [];
      for (const folder of ['one', 'two']) {
        const body = { format: 'jsonl', to: { folder } };
        const { json } = await site.door.ask('otto', 'POST', '/api/v1/trajectories/export', body);
        ids.push((json as { id: string }).id);
      }
      await change(`update holdfast.exports set request = '{"half' where id = '${ids[0]}'`);
      const { page } = await site.tabOf('otto');
      await page.goto('/data');
      await page.getByText(`Someone changed the row of ${ids[0]}: exports, row ${ids[0]}, request`).waitFor();
      expect(await page.locator('li.card').count()).toBe(1);
      const { json } = await site.door.ask('vera', 'GET', '/api/v1/trajectories/exports');
      expect(json).toMatchObject({
        items: [{ id: ids[1] }],
        unreadable: [{ id: ids[0], error: { code: 'row_changed' } }],
      });
    });
  });
});
