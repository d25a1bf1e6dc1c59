import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { type RunView, runView } from '../../src/core/runs/run.js';
import { describeBrowser } from '../harness/browser.js';
import type { Actor } from '../http/door.js';
import { JOB_AGENTS } from './job-agents.js';
import { openSite } from './open-site.js';

/** Counts what a person does: keys, and clicks or taps. Text that is typed counts as none. */
class Hand {
  readonly #page: Page;
  count = 0;
  constructor(page: Page) {
    this.#page = page;
  }
  async key(name: string): Promise<void> {
    this.count++;
    await this.#page.keyboard.press(name);
  }
  async click(what: ReturnType<Page['getByRole']>): Promise<void> {
    this.count++;
    await what.click();
  }
}

describeBrowser('jobs of people at the console', () => {
  const site = openSite(JOB_AGENTS);
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
    const { page, hand } = await open('otto', '/runs?agent=double&status=paused');
    await page.getByRole('checkbox').nth(5).waitFor();
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
    expect(hand.count).toBeLessThanOrEqual(4);
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
