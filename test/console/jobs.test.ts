import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { type RunView, runView } from '../../src/core/runs/run.js';
import { describeBrowser } from '../harness/browser.js';
import type { Actor } from '../http/door.js';
import { CONSOLE_AGENTS } from './agents.js';
import { Hand } from './hand.js';
import { JOB_AGENTS } from './job-agents.js';
import { openSite } from './open-site.js';

describeBrowser('jobs of people at the console', () => {
  const site = openSite([...JOB_AGENTS, ...CONSOLE_AGENTS]);
  const { read } = site;

  async function open(actor: Actor, place: string): Promise<{ readonly page: Page; readonly hand: Hand }> {
    const { page } = await site.tabOf(actor);
    await page.goto(place);
    return { page, hand: new Hand(page) };
  }
  async function start(agent: string, more: object = {}): Promise<RunView> {
    const { json } = await site.door.ask('otto', 'POST', '/api/v1/runs', { agent, input: 'go', ...more });
    return read(runView.parse(json).id);
  }
  async function approved(agent: string, more: object = {}): Promise<RunView> {
    const run = await start(agent, more);
    for (const actor of ['anna', 'adam'] as const)
      await site.door.ask(actor, 'POST', `/api/v1/interruptions/${run.interruptions[0]}/approve`, {});
    return read(run.id);
  }

  /** What can be pressed now of what waits. */
  const enabled = (page: Page, name: string) =>
    page.getByRole('button', { name, exact: false }).and(page.locator(':enabled')).first();

  test('J1: on a phone, two taps approve what waits first, and three any other', async () => {
    // The first call of a tool is worth a look.
    await approved('cashier');
    const some = [await start('cashier'), await start('cashier'), await start('cashier')];
    const { page } = await site.tabOf('anna', { width: 360, height: 740 });
    await page.goto('/inbox?agent=cashier');
    const hand = new Hand(page);
    const approve = async (): Promise<void> => {
      await hand.tap(enabled(page, 'Approve'));
      await hand.tap(page.getByRole('dialog').getByRole('button', { name: 'Approve' }));
      await page.getByRole('dialog').waitFor({ state: 'detached' });
    };
    const [first, second, third] = some;
    await approve();
    expect(hand.count).toBe(2);
    expect((await read(first?.id ?? '')).status).toBe('completed');
    await page.getByRole('article', { name: 'Next to decide' }).getByText('refund').first().waitFor();
    await hand.tap(page.locator(`.inbox-list a[href^="/inbox/${third?.interruptions[0]}"]`));
    await approve();
    expect(hand.count).toBe(2 + 3);
    expect((await read(third?.id ?? '')).status).toBe('completed');
    expect((await read(second?.id ?? '')).status).toBe('paused');
    await site.door.ask('anna', 'POST', `/api/v1/interruptions/${second?.interruptions[0]}/approve`, {});
  });

  test('J2 and J3: two keys approve, and the next one opens, which is rejected with two keys and a text', async () => {
    const [first, second] = [await start('cashier'), await start('cashier')];
    const { page, hand } = await open('anna', `/inbox/${first.interruptions[0]}?agent=cashier`);
    await enabled(page, 'Approve').waitFor();
    await hand.key('a');
    await page.getByRole('dialog').waitFor();
    await hand.key('Enter');
    await page.waitForURL(`**/inbox/${second.interruptions[0]}?agent=cashier`);
    expect(hand.count).toBe(2);
    await enabled(page, 'Reject').waitFor();
    await hand.key('r');
    await page.keyboard.type('Ask for a photo.');
    await hand.key('Control+Enter');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    expect(hand.count).toBe(4);
    for (const { id } of [first, second]) expect((await read(id)).status).toBe('completed');
  });

  test('J4: two keys and a number approve with another amount', async () => {
    const run = await start('cashier');
    const { page, hand } = await open('anna', `/inbox/${run.interruptions[0]}`);
    await enabled(page, 'Edit').waitFor();
    await hand.key('e');
    await page.getByLabel('cents').fill('6000');
    await page.getByText('These arguments would be taken.').waitFor();
    await hand.key('Control+Enter');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    expect(hand.count).toBe(2);
    expect(await read(run.id)).toMatchObject({ status: 'completed' });
  });

  test('J5: what may have happened says so, and is given up with two clicks', async () => {
    const run = await start('poster');
    expect(run.status).toBe('paused');
    const { page, hand } = await open('anna', `/inbox/${run.interruptions[0]}`);
    await page.getByText('may have happened').first().waitFor();
    await page.getByText('post').first().waitFor();
    await hand.click(page.getByRole('button', { name: /^(Reject|Give up)/ }).and(page.locator(':enabled')));
    await page.keyboard.type('Call the post office.');
    await hand.key('Control+Enter');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    expect(hand.count).toBeLessThanOrEqual(2);
    expect((await read(run.id)).status).toBe('completed');
  });

  test('J6: one key after an id was pasted shows why a run failed, and what to do', async () => {
    const { id, interruptions } = await start('double', { maxTurns: 1 });
    await site.door.ask('anna', 'POST', `/api/v1/interruptions/${interruptions[0]}/reject`, {});
    expect((await read(id)).error?.code).toBe('limit_turns');
    const { page, hand } = await open('vera', '/inbox');
    await page.keyboard.press('Control+k');
    await page.keyboard.insertText(id);
    await hand.key('Enter');
    await page.locator('.why').getByText('limit_turns').waitFor();
    await page.getByText('Raise maxTurns').waitFor();
    await page.locator('.call').getByText('alice').first().waitFor();
    expect(hand.count).toBeLessThanOrEqual(2);
  });

  test('J7: a run that waits says for what, by whom and until when, without a click', async () => {
    const run = await start('double');
    await site.door.ask('anna', 'POST', `/api/v1/interruptions/${run.interruptions[0]}/approve`, {});
    const { page } = await open('vera', `/runs/${run.id}`);
    const head = page.locator('.run-head');
    await head.getByText('Waits for approval').waitFor();
    await head.getByText('1 of 2').waitFor();
    await start('rare');
    const { json } = await site.door.ask('otto', 'POST', '/api/v1/runs', { agent: 'rare', input: 'go' });
    await page.goto(`/runs/${runView.parse(json).id}`);
    await head.getByText('may begin 1 runs').waitFor();
  });

  test('J8: one key shows what a run cost, by call', async () => {
    const run = await approved('double');
    const { page, hand } = await open('vera', `/runs/${run.id}`);
    await page.getByRole('navigation', { name: 'Views' }).waitFor();
    await hand.key('4');
    const table = page.getByRole('group', { name: 'Charges' });
    await table.waitFor();
    expect(await table.getByRole('row').count()).toBe(3);
    expect(hand.count).toBe(1);
  });

  test('J9: a key and a click show that a changed agent would do otherwise', async () => {
    const run = await approved('double');
    const { page, hand } = await open('otto', `/runs/${run.id}`);
    await page.getByRole('navigation', { name: 'Views' }).waitFor();
    await hand.key('6');
    await hand.click(page.getByRole('button', { name: 'Replay with the agents of today' }));
    await page.getByText('The agents of today do the same.').waitFor();
    expect(hand.count).toBe(2);
  });

  test('J10 and J11: four actions fork before the mistake, one compares', async () => {
    const run = await approved('double');
    const { json } = await site.door.ask('vera', 'GET', `/api/v1/runs/${run.id}/events?kind=model.responded`);
    const { items } = z.object({ items: z.array(z.object({ seq: z.int() })) }).parse(json);
    const { page, hand } = await open('otto', `/runs/${run.id}?view=log`);
    await hand.click(page.locator(`#event-${items[0]?.seq}`));
    await page.locator('.event-pane').waitFor();
    await hand.key('Shift+F');
    const answer = page.getByRole('dialog').getByLabel('Answer of the model');
    await answer.fill((await answer.inputValue()).replaceAll('50', '70'));
    await hand.key('Control+Enter');
    await page.waitForURL((url) => url.pathname.startsWith('/runs/') && !url.pathname.endsWith(run.id));
    expect(hand.count).toBeLessThanOrEqual(4);
    const before = hand.count;
    await hand.click(page.getByRole('link', { name: 'Compare' }));
    await page.getByText('Then the runs part.').waitFor();
    expect(hand.count - before).toBe(1);
  });

  test('J12: two actions verify the log', async () => {
    const run = await approved('double');
    const { page, hand } = await open('vera', `/runs/${run.id}`);
    await page.getByRole('navigation', { name: 'Views' }).waitFor();
    await hand.key('5');
    await hand.click(page.getByRole('button', { name: 'Verify the log' }));
    await page.getByText('The log is whole up to event').waitFor();
    expect(hand.count).toBe(2);
  });

  test('J13: two keys show workers, queue, errors and money', async () => {
    const { id, interruptions } = await start('double', { maxTurns: 1 });
    await site.door.ask('anna', 'POST', `/api/v1/interruptions/${interruptions[0]}/reject`, {});
    expect((await read(id)).error?.code).toBe('limit_turns');
    const { page, hand } = await open('adam', '/inbox');
    await page.getByRole('navigation', { name: 'Main' }).waitFor();
    await hand.key('g');
    await hand.key('o');
    for (const region of ['Health', 'Queue', 'Errors', 'Money'])
      await page.getByRole('region', { name: region }).waitFor();
    await page.getByRole('group', { name: 'Workers' }).waitFor();
    await page.getByRole('region', { name: 'Errors' }).getByRole('link').first().waitFor();
    expect(hand.count).toBe(2);
  });

  test('J14: the runs of a broken deploy are cancelled together', async () => {
    const waiting = await Promise.all(Array.from({ length: 6 }, () => start('double')));
    const { page, hand } = await open('otto', '/runs');
    await page.locator('#text-filter').waitFor();
    await hand.key('/');
    await page.keyboard.type('agent:double status:paused since:1h');
    await page.keyboard.press('Enter');
    await page.waitForURL(/agent=double/);
    expect(new URL(page.url()).searchParams.get('status')).toBe('paused');
    expect(Date.now() - Date.parse(new URL(page.url()).searchParams.get('from') ?? '')).toBeLessThan(3_700_000);
    await page.getByRole('checkbox').nth(5).waitFor();
    await page.locator('body').click({ position: { x: 2, y: 400 } });
    await hand.key('x');
    await hand.click(page.getByRole('button', { name: 'Select all that fit' }));
    await page.getByText(/^([6-9]|\d\d) selected$/).waitFor();
    await hand.click(page.getByRole('region', { name: 'Selected runs' }).getByRole('button', { name: 'Cancel' }));
    // From ten on their number is typed.
    const typed = page.getByRole('dialog').locator('input');
    if ((await typed.count()) > 0) await typed.fill(/\d+/.exec(await page.getByRole('dialog').innerText())?.[0] ?? '');
    await hand.click(page.getByRole('dialog').getByRole('button', { name: /^Cancel \d+ runs/ }));
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    for (const { id } of waiting) expect((await read(id)).status).toBe('cancelled');
    expect(hand.count).toBeLessThanOrEqual(5);
  });

  test('J17: two keys judge a trajectory, and the next one opens', async () => {
    const some = [await start('clerk'), await start('clerk')];
    for (const { interruptions } of some)
      await site.door.ask('anna', 'POST', `/api/v1/interruptions/${interruptions[0]}/answer`, { value: 'first' });
    for (const { id } of some) await read(id);
    const { page, hand } = await open('otto', '/data?tab=review');
    const shown = page.getByRole('region', { name: 'Judge' }).locator('.id a').first();
    for (let judged = 1; judged <= 2; judged++) {
      const before = await shown.getAttribute('href');
      await hand.key('5');
      await hand.key('Enter');
      await page.locator(`.judge .id a[href="${before}"]`).waitFor({ state: 'detached' });
      expect(hand.count).toBe(2 * judged);
    }
  });

  test('J18: a run is started and streams, within twenty seconds', async () => {
    const { page, hand } = await open('otto', '/agents');
    const card = page.getByRole('listitem').filter({ hasText: 'double' });
    const began = Date.now();
    await hand.click(card.getByRole('button', { name: 'Start a run' }));
    await page.getByLabel('Input').fill('Try it.');
    await hand.key('Control+Enter');
    await page.waitForURL('**/runs/run_*');
    await page.getByText('Waits for approval').first().waitFor();
    expect(hand.count).toBe(2);
    expect(Date.now() - began).toBeLessThan(20_000);
  });

  test('two approvers in two browsers: each sees what the other has said', async () => {
    const run = await start('double');
    const [wait] = run.interruptions;
    const anna = await open('anna', `/inbox/${wait}`);
    const adam = await open('adam', `/inbox/${wait}`);
    for (const { page } of [anna, adam])
      await page.getByRole('button', { name: 'Approve' }).and(page.locator(':enabled')).first().waitFor();
    await anna.page.keyboard.press('a');
    await anna.page.getByRole('dialog').waitFor();
    await anna.page.keyboard.press('Enter');
    await anna.page.getByRole('dialog').waitFor({ state: 'detached' });
    await adam.page.locator('.inbox-item').getByText('anna').first().waitFor();
    await adam.page.keyboard.press('a');
    await adam.page.getByRole('dialog').waitFor();
    await adam.page.keyboard.press('Enter');
    await adam.page.getByRole('dialog').waitFor({ state: 'detached' });
    await anna.page.goto(`/inbox/${wait}`);
    await anna.page.getByText('adam').first().waitFor();
    expect((await read(run.id)).status).toBe('completed');
  });
});
