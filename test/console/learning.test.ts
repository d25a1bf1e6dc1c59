import { expect, test } from 'vitest';
import { runView } from '../../src/core/runs/run.js';
import { describeBrowser } from '../harness/browser.js';
import { findingsOf } from './axe.js';
import { EVOLUTION, LEARNING_AGENTS, proposePoliteness } from './learning-agents.js';
import { openSite } from './open-site.js';

describeBrowser('pages of evolution and memory', () => {
  const site = openSite(LEARNING_AGENTS, { evolution: EVOLUTION });
  const { tabOf, read } = site;

  test('a patch is read, decided, given to more runs and rolled back by keys alone', async () => {
    const id = await proposePoliteness(site.door.ask);
    const { page } = await tabOf('anna');
    await page.keyboard.press('g');
    await page.keyboard.press('e');
    await page.getByRole('link', { name: /^1?.*\+/ }).click();
    await page.getByText('Say please.').first().waitFor();
    const changes = page.getByRole('region', { name: 'Changes' });
    await changes.getByText('removed: ').first().waitFor({ state: 'attached' });
    expect(await changes.locator('.line-gone').innerText()).toContain('Answer.');
    await changes.locator('.hidden-character[data-name="U+202E"]').first().waitFor({ state: 'attached' });
    await page.getByRole('group', { name: 'Trial' }).getByText('3 of 3').waitFor();
    await page.getByRole('link', { name: 'Decide' }).waitFor();
    expect(await page.locator('main img, main script, main style, main iframe').count()).toBe(0);
    expect(await findingsOf(page)).toEqual([]);
    await page.keyboard.press('d');
    await page.waitForURL('**/inbox/int_*');
    await page.locator('.arguments').waitFor();
    await page.evaluate("document.querySelector('.arguments .end').scrollIntoView()");
    await page.getByRole('button', { name: 'Approve' }).and(page.locator(':enabled')).waitFor();
    await page.keyboard.press('a');
    await page.getByRole('dialog').getByRole('button', { name: 'Approve' }).waitFor();
    await page.keyboard.press('Enter');
    expect(await read(id)).toMatchObject({ status: 'completed', output: { applied: true } });
    await page.goto(`/evolution/greeter/${id}`);
    await page.getByText('50 % of new runs').waitFor();
    await page.getByRole('button', { name: 'Change the share' }).and(page.locator(':enabled')).waitFor();
    await page.keyboard.press('s');
    await page.getByLabel('Percent of new runs, 1 to 100').fill('100');
    await page.keyboard.press('Control+Enter');
    await page.getByText('100 % of new runs').waitFor();
    await page.keyboard.press('b');
    await page.getByLabel('Reason').fill('Too long.');
    await page.keyboard.press('Control+Enter');
    await page.getByText('no new run gets it').waitFor();
    await page.getByText('Too long.').waitFor();
    await page.goto('/evolution?status=live');
    await page.getByText('No patch fits the filter').waitFor();
  });

  test('a document is found, read with where it comes from, and forgotten', async () => {
    const { json } = await site.door.ask('otto', 'POST', '/api/v1/runs', { agent: 'keeper', input: 'Keep it.' });
    const { id } = runView.parse(json);
    expect((await read(id)).status).toBe('completed');
    const { page } = await tabOf('adam');
    await page.keyboard.press('g');
    await page.keyboard.press('m');
    await page.getByRole('link', { name: 'facts' }).click();
    await page.getByRole('link', { name: '<img src=x onerror=alert(1)>' }).waitFor();
    await page.keyboard.press('/');
    await page.keyboard.type('green');
    await page.keyboard.press('Enter');
    await page.waitForURL('**/memory/facts?q=green');
    await page.getByRole('link', { name: '<img src=x' }).waitFor({ state: 'detached' });
    await page.getByRole('link', { name: 'tea' }).click();
    await page.getByText('add /cups + 2').waitFor();
    await page.getByText('asked by otto').first().waitFor();
    expect(await findingsOf(page)).toEqual([]);
    await page.getByRole('button', { name: 'Forget' }).click();
    let answer = (): void => undefined;
    const answered = new Promise<void>((resolve) => {
      answer = resolve;
    });
    await page.route('**/memory/facts/documents?*', async (route) => {
      await answered;
      await route.continue();
    });
    await page.getByRole('dialog').getByRole('button', { name: 'Forget' }).click();
    await page.waitForURL('**/memory/facts');
    await page.getByRole('heading', { name: 'Memory facts' }).waitFor();
    expect(await page.getByRole('link', { name: 'tea' }).count()).toBe(0);
    answer();
    await page.getByRole('link', { name: '<img src=x onerror=alert(1)>' }).waitFor();
    expect(await page.getByRole('link', { name: 'tea' }).count()).toBe(0);
  });

  test.each([
    { width: 1280, dark: true },
    { width: 360, dark: false },
    { width: 360, dark: true },
  ])('hostile texts are text, and nothing scrolls sideways or is found by axe: %o', async (options) => {
    const { page } = await tabOf('vera', options);
    const { json } = await site.door.ask('vera', 'GET', '/api/v1/evolution');
    const { items } = json as { readonly items: readonly { readonly id: string }[] };
    const key = new URLSearchParams({ key: '<img src=x onerror=alert(1)>' });
    const places = [`/evolution/greeter/${items[0]?.id}`, '/evolution', '/evolution/greeter', '/memory'];
    for (const place of [...places, '/memory/facts', `/memory/facts/document?${key}`]) {
      await page.goto(place);
      await page.locator('main .card, main table').first().waitFor();
      expect(await page.locator('main img, main script, main style, main iframe, main base').count(), place).toBe(0);
      expect(await findingsOf(page), place).toEqual([]);
      expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth'), place).toBeLessThanOrEqual(0);
    }
    await page.getByText('onerror=alert(1)').first().waitFor();
    expect(await page.getByRole('button', { name: 'Forget' }).isDisabled()).toBe(true);
  });
});
