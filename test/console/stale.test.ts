import { expect, test } from 'vitest';
import { z } from 'zod';
import { shortId } from '../../src/console/text/words.js';
import { type RunView, runView } from '../../src/core/runs/run.js';
import { describeBrowser } from '../harness/browser.js';
import { TOKENS } from '../http/door.js';
import { CONSOLE_AGENTS } from './agents.js';
import { LEARNING_AGENTS } from './learning-agents.js';
import { openSite } from './open-site.js';

/** Longer than between two polls of any page that is tested here. */
const POLLED_MS = 5500;

describeBrowser('pages that stay open while something changes', () => {
  const site = openSite([...CONSOLE_AGENTS, ...LEARNING_AGENTS]);
  const { tabOf, read } = site;

  async function started(agent: string): Promise<RunView> {
    const { json } = await site.door.ask('otto', 'POST', '/api/v1/runs', { agent, input: 'The parcel broke.' });
    return read(runView.parse(json).id);
  }
  async function answered(): Promise<RunView> {
    const run = await started('clerk');
    await site.door.ask('anna', 'POST', `/api/v1/interruptions/${run.interruptions[0]}/answer`, { value: 'first' });
    return read(run.id);
  }
  const signInAgain = async (page: Awaited<ReturnType<typeof tabOf>>['page'], token: string): Promise<void> => {
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Token').fill(token);
    await page.keyboard.press('Enter');
    await dialog.waitFor({ state: 'detached' });
  };

  test.each([
    ['/runs', '#text-filter'],
    ['/runs', '#agent-filter'],
    ['/tasks', '.filters input'],
    ['/inbox', '.inbox-side .filters input'],
    ['/memory/facts', '#words'],
  ])('what is typed at %s into %s stays while the page is read again', async (place, field) => {
    await started('keeper');
    const { page } = await tabOf('otto');
    await page.goto(place);
    const input = page.locator(field).first();
    await input.click();
    await page.keyboard.type('par');
    await page.waitForTimeout(POLLED_MS);
    await page.keyboard.type('cel');
    expect(await input.inputValue()).toBe('parcel');
  });

  test('what is typed to find stays, and so do the choices of an export', async () => {
    const run = await started('cashier');
    const { page } = await tabOf('otto');
    await page.goto(`/runs/${run.id}?view=log`);
    await page.locator('#find-text').fill('broken');
    await page.waitForTimeout(POLLED_MS);
    expect(await page.locator('#find-text').inputValue()).toBe('broken');
    await page.goto('/data');
    await page.getByRole('button', { name: 'Start an export' }).click();
    await page.getByLabel('failed').check();
    await page.getByLabel('completed').uncheck();
    await page.waitForTimeout(POLLED_MS);
    expect(await page.getByLabel('failed').isChecked()).toBe(true);
    expect(await page.getByLabel('completed').isChecked()).toBe(false);
  });

  test('what was found out about one run is not shown beside another', async () => {
    const [first, second] = [await started('cashier'), await started('cashier')];
    const { page } = await tabOf('vera');
    await page.goto(`/runs/${first.id}?view=evidence`);
    await page.getByRole('button', { name: 'Verify the log' }).click();
    await page.getByText('The log is whole').waitFor();
    await page.evaluate(`history.pushState(null, '', '/runs/${second.id}?view=evidence')`);
    await page.evaluate("dispatchEvent(new PopStateEvent('popstate'))");
    await page.locator(`.run-head [title="${second.id}"], .run-head .id`).first().waitFor();
    await page.getByText(shortId(second.id)).first().waitFor();
    expect(await page.getByText('The log is whole').count()).toBe(0);
  });

  test('a sign-in that ends is asked for over the page, whose log then goes on', async () => {
    const run = await started('cashier');
    const { page, context } = await tabOf('anna');
    await page.goto(`/runs/${run.id}`);
    await page.getByText('Waits for').first().waitFor();
    await page.route('**/events*', (route) => route.abort());
    await context.clearCookies();
    await page.getByRole('dialog').getByLabel('Token').waitFor();
    await page.unroute('**/events*');
    await signInAgain(page, TOKENS.anna.token);
    await site.door.ask('anna', 'POST', `/api/v1/interruptions/${run.interruptions[0]}/approve`, {});
    await page.getByText('r-8000').first().waitFor();
    expect(new URL(page.url()).pathname).toBe(`/runs/${run.id}`);
  });

  test('who signs in for another tenant sees nothing of the one before', async () => {
    await started('cashier');
    const { page, context } = await tabOf('anna');
    await page.goto('/runs');
    await page.locator('tbody tr').first().waitFor();
    await context.clearCookies();
    await page.getByRole('dialog').getByLabel('Token').waitFor();
    await signInAgain(page, TOKENS.zoe.token);
    await page.getByText('No run yet').waitFor();
    expect(await page.locator('tbody tr').count()).toBe(0);
  });

  test('the console stays where the server cannot say for a moment who signed in', async () => {
    const { page } = await tabOf('anna');
    await page.goto('/settings');
    let asked = 0;
    await page.route('**/api/v1/sign-ins/current', (route) => {
      asked++;
      const body = { code: 'engine_not_running', detail: 'It is stopping.', title: '', hint: '', errors: [] };
      return asked > 1 ? route.continue() : route.fulfill({ status: 503, body: JSON.stringify(body) });
    });
    await page.reload();
    await page.getByRole('heading', { name: 'Settings' }).waitFor();
    expect(asked).toBeGreaterThan(1);
  });

  test('several are approved only after each was shown', async () => {
    const some = [await started('cashier'), await started('cashier')];
    const { page } = await tabOf('anna');
    await page.goto('/inbox?agent=cashier&order=newest');
    for (const { interruptions } of some) await page.getByLabel(`Select ${shortId(interruptions[0] ?? '')}`).check();
    let open = (): void => {};
    const shown = new Promise<void>((resolve) => {
      open = resolve;
    });
    await page.route('**/api/v1/interruptions/*/context', async (route) => {
      await shown;
      await route.continue();
    });
    await page.getByRole('button', { name: 'Approve 2' }).click();
    await page.keyboard.press('Control+Enter');
    await page.getByRole('dialog').getByText('are not shown yet').waitFor();
    for (const { id } of some) expect((await read(id)).status).toBe('paused');
    open();
    await page.getByRole('dialog').getByText('8000').nth(1).waitFor();
    await page.keyboard.press('Control+Enter');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    for (const { id } of some) expect((await read(id)).status).toBe('completed');
  });

  test('arguments are edited once the form for them is known, also where it comes late', async () => {
    const { interruptions } = await started('cashier');
    const { page } = await tabOf('anna');
    let open = (): void => {};
    const known = new Promise<void>((resolve) => {
      open = resolve;
    });
    await page.route('**/api/v1/interruptions/*/context', async (route) => {
      await known;
      await route.continue();
    });
    await page.goto(`/inbox/${interruptions[0]}`);
    await page.getByRole('button', { name: 'Approve' }).and(page.locator(':enabled')).waitFor();
    await page.keyboard.press('e');
    expect(await page.getByRole('dialog').count()).toBe(0);
    open();
    await page.getByRole('button', { name: 'Edit' }).and(page.locator(':enabled')).waitFor();
    await page.keyboard.press('e');
    await page.getByLabel('cents').waitFor();
  });

  test('what is typed right after the key that rejects goes into the message, and approves nothing', async () => {
    const { interruptions } = await started('cashier');
    const { page } = await tabOf('anna');
    await page.goto(`/inbox/${interruptions[0]}`);
    await page.getByRole('button', { name: 'Approve' }).and(page.locator(':enabled')).waitFor();
    // Before the browser draws again, as two keys may come that are pressed fast on a slow machine.
    const typed = await page.evaluate(`(async () => {
      const press = (key) => {
        const event = new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true });
        document.activeElement.dispatchEvent(event);
        return !event.defaultPrevented;
      };
      press('r');
      await new Promise((resolve) => setTimeout(resolve, 0));
      return press('a') && document.activeElement.id;
    })()`);
    expect(typed).toBe('message');
    await page.getByRole('dialog').getByRole('button', { name: 'Reject' }).waitFor();
  });

  test('the trajectory that is judged stays when another run ends', async () => {
    await answered();
    const { page } = await tabOf('otto');
    await page.goto('/data?tab=review');
    const link = page.getByRole('region', { name: 'Judge' }).locator('.id a').first();
    const before = await link.getAttribute('href');
    await page.getByLabel('Reason').fill('It asked well.');
    const later = await answered();
    await page.waitForTimeout(POLLED_MS);
    expect(await link.getAttribute('href')).toBe(before);
    expect(await page.getByLabel('Reason').inputValue()).toBe('It asked well.');
    // Someone else judges it: it is still the one that is read.
    await site.door.ask('adam', 'POST', `/api/v1${before}/reward`, { reward: 1 });
    await page.getByText('It has a reward: 1').waitFor();
    expect(before).not.toContain(later.id);
  });

  test('a run that is erased loses its texts where it is open', async () => {
    const run = await answered();
    const { page } = await tabOf('vera');
    await page.goto(`/runs/${run.id}`);
    await page.getByText('Thanks.').waitFor();
    const erased = await site.door.ask('adam', 'POST', `/api/v1/runs/${run.id}/erase`, { reason: 'She asked for it.' });
    expect(erased.status).toBe(200);
    await page.getByText('Its content was erased').waitFor();
    await page.getByText('Thanks.').waitFor({ state: 'detached' });
  });

  test('what the server does not say again is marked as old', async () => {
    const run = await started('cashier');
    const { page } = await tabOf('vera');
    await page.goto(`/runs/${run.id}`);
    await page.getByText('Waits for').first().waitFor();
    await page.route(`**/api/v1/runs/${run.id}`, (route) =>
      route.fulfill({
        status: 500,
        body: JSON.stringify({ code: 'internal', detail: 'It broke.', title: '', hint: '', errors: [] }),
      }),
    );
    await page.getByText('What is shown may be old').waitFor();
    await page.unroute(`**/api/v1/runs/${run.id}`);
    await page.getByText('What is shown may be old').waitFor({ state: 'detached' });
  });

  test('a page whose code cannot be loaded says so, and comes when the server is back', async () => {
    const { page } = await tabOf('vera');
    await page.goto('/settings');
    await page.route('**/assets/**', (route) => route.abort());
    await page.keyboard.press('g');
    await page.keyboard.press('s');
    await page.getByText('This page could not be loaded').waitFor();
    await page.unroute('**/assets/**');
    await page.getByRole('button', { name: 'Load the console again' }).click();
    await page.getByRole('heading', { name: 'Statistics' }).waitFor();
  });

  test('events of a log are opened by arrows, also where single keys are off', async () => {
    const run = await started('cashier');
    const { page } = await tabOf('vera');
    await page.evaluate("localStorage.setItem('holdfast-keys', 'off')");
    await page.goto(`/runs/${run.id}?view=log`);
    await page.locator('.log-row').nth(3).waitFor();
    await page.getByRole('listbox').focus();
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('ArrowDown');
    await page.getByRole('complementary', { name: 'Event 2' }).waitFor();
    await page.keyboard.press('End');
    const { json } = await site.door.ask('vera', 'GET', `/api/v1/runs/${run.id}/events?limit=200`);
    const { items } = z.object({ items: z.array(z.object({ seq: z.int() })) }).parse(json);
    await page.getByRole('complementary', { name: `Event ${items.length}` }).waitFor();
  });

  test('another filter begins with nothing selected', async () => {
    await started('cashier');
    const { page } = await tabOf('otto');
    await page.goto('/runs');
    await page.getByRole('checkbox').first().check();
    await page.getByText('1 selected').waitFor();
    await page.locator('#agent-filter').fill('clerk');
    await page.keyboard.press('Enter');
    await page.getByText('1 selected').waitFor({ state: 'detached' });
  });

  test('counts are not shown beside the runs that a text finds, since they do not count by it', async () => {
    await started('cashier');
    const { page } = await tabOf('vera');
    await page.goto('/runs');
    await page.getByText('in the last 24 hours').waitFor();
    await page.goto('/runs?q=no-run-says-this');
    await page.getByText('No run fits the filter').waitFor();
    expect(await page.getByText('in the last 24 hours').count()).toBe(0);
    expect(await page.getByRole('button', { name: 'paused', exact: true }).count()).toBe(1);
  });

  test('the menu of who signed in closes when another page is opened', async () => {
    const { page } = await tabOf('vera');
    await page.goto('/runs');
    await page.locator('.who summary').click();
    await page.locator('.who').getByRole('link', { name: 'Settings' }).click();
    await page.getByRole('heading', { name: 'Settings' }).waitFor();
    expect(await page.getByText('Tenant default').count()).toBe(1);
    expect(await page.locator('.who').getByText('Tenant default').isVisible()).toBe(false);
  });
});
