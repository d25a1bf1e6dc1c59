import { Agent } from '@openai/agents';
import { beforeAll, expect, test, vi } from 'vitest';
import { pageOf } from '../../src/core/operations/fields.js';
import { taskView } from '../../src/core/tasks/task.js';
import { defineAgent, functionModel } from '../../src/index.js';
import { aTask } from '../core/tasks/a-task.js';
import { describeBrowser } from '../harness/browser.js';
import { bearer } from '../http/door.js';
import { HOSTILE } from './agents.js';
import { findingsOf } from './axe.js';
import { Hand } from './hand.js';
import { openSite } from './open-site.js';

const mute = functionModel('mute', () => {
  throw new Error(HOSTILE);
});
const AGENTS = [
  defineAgent({ agent: new Agent({ name: 'mute', model: mute }) }),
  defineAgent({ agent: new Agent({ name: 'rare', model: mute }), rate: { runs: 1, perMs: 3_600_000 } }),
];
const KEY = 'monday/<img_src=x_onerror=alert(1)>';
const PLACE = `/batches/${encodeURIComponent(KEY)}`;

describeBrowser('tasks and batches in the console', () => {
  const site = openSite(AGENTS, { retries: { most: 0 } });
  const { tabOf } = site;

  const tasksOf = async (query: string) =>
    pageOf(taskView).parse((await site.door.ask('vera', 'GET', `/api/v1/tasks?${query}`)).json).items;

  /** Two tasks that fail by an error, and two that wait for the rate of their agent. */
  beforeAll(async () => {
    await site.door.ask('otto', 'POST', '/api/v1/runs', { agent: 'rare', input: 'go' });
    await vi.waitFor(
      async () =>
        expect((await site.door.ask('vera', 'GET', '/api/v1/runs?agent=rare&status=failed')).json).toMatchObject({
          items: [{}],
        }),
      { timeout: 20_000, interval: 100 },
    );
    const lines = ['mute', 'rare', 'mute', 'rare'].map((agent, seed) =>
      JSON.stringify({ task: { ...aTask(), name: `sort-${seed % 2}` }, agent, seed }),
    );
    const headers = { ...bearer('otto'), 'Content-Type': 'application/x-ndjson', 'Idempotency-Key': KEY };
    const body = lines.join('\n');
    await (await fetch(`${site.door.http.url}/api/v1/tasks/batch`, { method: 'POST', headers, body })).text();
    await vi.waitFor(async () => expect(await tasksOf('dead=true')).toHaveLength(2), {
      timeout: 20_000,
      interval: 100,
    });
  });

  test('J15: two clicks tell how a batch went, and by what it failed', async () => {
    const { page } = await tabOf('vera');
    await page.goto('/tasks');
    const hand = new Hand(page);
    await hand.click(page.getByRole('navigation', { name: 'Tasks' }).getByRole('link', { name: 'Batches' }));
    const row = page.getByRole('group', { name: 'Batches' }).getByRole('row').nth(1);
    await row.getByText('0.0 %').waitFor();
    await hand.click(row.getByRole('link').first());
    await page.waitForURL(`**${PLACE}`);
    await page.getByText('2 of 4 ended').waitFor();
    await page.getByText('0.0 % (0.0 % to 65.8 %)').first().waitFor();
    await page.getByRole('region', { name: 'Rewards' }).waitFor();
    const failures = page.getByRole('region', { name: 'Failures' });
    await failures.getByText(/^2 × error/).waitFor();
    expect(hand.count).toBe(2);
    const groups = page.getByRole('region', { name: 'Groups' });
    await groups.getByText('sort-0@').waitFor();
    await groups.getByRole('button', { name: 'agent' }).click();
    await groups.getByRole('cell', { name: 'rare' }).waitFor();
    expect(await page.locator('main img, main script, main style, main iframe').count()).toBe(0);
    expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBeLessThanOrEqual(0);
    expect(await findingsOf(page)).toEqual([]);
  });

  test('J16: three clicks put dead tasks back', async () => {
    const before = await tasksOf('dead=true');
    const { page } = await tabOf('adam');
    await page.goto('/tasks');
    const hand = new Hand(page);
    await hand.click(page.getByRole('button', { name: 'dead', exact: true }));
    await hand.click(page.getByRole('button', { name: 'Select all' }));
    const selected = page.getByRole('region', { name: 'Selected tasks' });
    await selected.getByText('2 selected').waitFor();
    await hand.click(selected.getByRole('button', { name: 'Put back' }));
    expect(hand.count).toBe(3);
    for (const { id } of before)
      await vi.waitFor(
        async () =>
          expect((await site.door.ask('vera', 'GET', `/api/v1/tasks/${id}`)).json).toMatchObject({ requeues: 1 }),
        { timeout: 20_000, interval: 100 },
      );
    await page.getByText('0 selected').or(page.getByText('No task fits the filter')).first().waitFor();
  });

  test('who may not put back or cancel reads which role it needs', async () => {
    await vi.waitFor(async () => expect(await tasksOf('dead=true')).toHaveLength(2), {
      timeout: 20_000,
      interval: 100,
    });
    const { page } = await tabOf('vera');
    await page.goto('/tasks?dead=true');
    await page.getByText('Needs the role admin.').waitFor();
    expect(await page.getByRole('button', { name: 'Put back' }).isDisabled()).toBe(true);
    await page.goto(PLACE);
    expect(await page.getByRole('button', { name: 'Cancel' }).isDisabled()).toBe(true);
  });

  test('a batch is cancelled, as far as it is open', async () => {
    const { page } = await tabOf('otto', { width: 360, height: 740 });
    await page.goto(PLACE);
    expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBeLessThanOrEqual(0);
    await page.getByRole('button', { name: 'Cancel' }).click();
    await page.getByRole('dialog').getByLabel('Reason').fill('Wrong image.');
    await page.keyboard.press('Control+Enter');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await page.getByText('4 of 4 ended').waitFor();
    await page.getByRole('link', { name: '2 cancelled' }).click();
    await page.waitForURL('**/tasks?batch=*&status=cancelled');
    await page.getByRole('group', { name: 'Tasks' }).getByRole('row').nth(2).waitFor();
  });
});
