import { expect, test } from 'vitest';
import { z } from 'zod';
import { shortId } from '../../src/console/text/words.js';
import { SYSTEM_EVENT_KINDS } from '../../src/core/log/system-event.js';
import { type RunView, runView } from '../../src/core/runs/run.js';
import { describeBrowser } from '../harness/browser.js';
import type { Actor } from '../http/door.js';
import { CONSOLE_AGENTS, HOSTILE } from './agents.js';
import { findingsOf } from './axe.js';
import { openSite } from './open-site.js';

/** Where the letters after a character that reverses the text are drawn, from the first to the last. */
const ORDER_AFTER_OVERRIDE = `(() => {
  const after = document.querySelector('.arguments .hidden-character[data-name="U+202E"]').nextSibling;
  return [...' gnp.exe'].map((_letter, at) => {
    const range = document.createRange();
    range.setStart(after, at);
    range.setEnd(after, at + 1);
    return range.getBoundingClientRect().left;
  });
})()`;

describeBrowser('the console', () => {
  // No server listens there.
  const webhook = { name: 'on-call', url: 'http://127.0.0.1:9/hook', kinds: [...SYSTEM_EVENT_KINDS] };
  const site = openSite(CONSOLE_AGENTS, { webhooks: [webhook] });
  const { tabOf, newTab, read } = site;

  async function paused(name: string): Promise<{ readonly run: RunView; readonly wait: string }> {
    const { json } = await site.door.ask('otto', 'POST', '/api/v1/runs', { agent: name, input: 'The parcel broke.' });
    const run = await read(runView.parse(json).id);
    expect(run.status).toBe('paused');
    return { run, wait: run.interruptions[0] ?? '' };
  }

  test('two keys approve what waits, and the next one opens', async () => {
    const first = await paused('cashier');
    const second = await paused('cashier');
    const { page } = await tabOf('anna');
    await page.goto(`/inbox/${first.wait}`);
    await page.getByRole('button', { name: 'Approve' }).and(page.locator(':enabled')).waitFor();
    await page.keyboard.press('a');
    await page.getByRole('dialog').getByText('8000').waitFor();
    await page.keyboard.press('Enter');
    await page.waitForURL(`**/inbox/${second.wait}`);
    expect(await read(first.run.id)).toMatchObject({
      status: 'completed',
      output: 'The refund is on its way: r-8000.',
    });
  });

  test('two taps approve on a phone', async () => {
    const { run, wait } = await paused('cashier');
    const { page } = await tabOf('anna', { width: 360, height: 740 });
    await page.goto(`/inbox/${wait}`);
    // Without scrolling: the verbs stand at the foot of the screen.
    const verb = await page.getByRole('button', { name: 'Approve' }).boundingBox();
    expect(verb && verb.y + verb.height).toBeLessThanOrEqual(740);
    await page.getByRole('button', { name: 'Approve' }).tap();
    await page.getByRole('dialog').getByRole('button', { name: 'Approve' }).tap();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    expect(await read(run.id)).toMatchObject({ status: 'completed' });
  });

  test('a rejection sends the message that the model reads', async () => {
    const { run, wait } = await paused('cashier');
    const { page } = await tabOf('anna');
    await page.goto(`/inbox/${wait}`);
    await page.getByRole('button', { name: 'Reject' }).and(page.locator(':enabled')).waitFor();
    await page.keyboard.press('r');
    await page.keyboard.type('Ask for a photo.');
    await page.keyboard.press('Control+Enter');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    expect(await read(run.id)).toMatchObject({ status: 'completed' });
    const decided = await site.door.ask('vera', 'GET', `/api/v1/interruptions/${wait}`);
    expect(decided.json).toMatchObject({
      status: 'rejected',
      decisions: [{ actor: 'anna', message: 'Ask for a photo.' }],
    });
  });

  test('an approval with other arguments says where they are wrong, and runs with the right ones', async () => {
    const { run, wait } = await paused('cashier');
    const { page } = await tabOf('anna');
    await page.goto(`/inbox/${wait}`);
    await page.getByRole('button', { name: 'Edit' }).and(page.locator(':enabled')).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('cents').fill('sixty');
    await dialog.getByText('"sixty" is no number').waitFor();
    await dialog.getByLabel('cents').fill('60.5');
    await dialog.getByRole('status').getByText('cents').waitFor();
    await page.keyboard.press('Control+Enter');
    await dialog.getByRole('alert').getByText('cents').first().waitFor();
    await dialog.getByLabel('cents').fill('6000');
    await dialog.getByText('These arguments would be taken.').waitFor();
    await dialog.getByText('replace /cents = 6000').waitFor();
    await dialog.getByRole('button', { name: 'Edit as JSON' }).click();
    await dialog.getByLabel('Arguments (JSON)').fill('{"order": "1042", "cents": 6000}');
    await dialog.getByText('remove /note').waitFor();
    await dialog.getByRole('button', { name: 'Approve with these arguments' }).waitFor();
    await page.keyboard.press('Control+Enter');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await read(run.id);
    await page.goto(`/runs/${run.id}`);
    await page.getByText('edited to').waitFor();
    await page.getByText('r-6000').first().waitFor();
  });

  test('a question is answered by one of its choices', async () => {
    const { run, wait } = await paused('clerk');
    const { page } = await tabOf('anna');
    await page.goto(`/inbox/${wait}`);
    await page.getByRole('button', { name: 'Answer' }).and(page.locator(':enabled')).click();
    await page.getByLabel('second').check();
    await page.keyboard.press('Control+Enter');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    expect(await read(run.id)).toMatchObject({ status: 'completed' });
    expect((await site.door.ask('vera', 'GET', `/api/v1/interruptions/${wait}`)).json).toMatchObject({
      status: 'answered',
      decisions: [{ value: 'second' }],
    });
  });

  test('a fork says what may be executed again, takes another answer of the model, and is compared with its source', async () => {
    const { run, wait } = await paused('cashier');
    await site.door.ask('anna', 'POST', `/api/v1/interruptions/${wait}/approve`, {});
    await read(run.id);
    const { json } = await site.door.ask('vera', 'GET', `/api/v1/runs/${run.id}/events?limit=200`);
    const { items } = z.object({ items: z.array(z.object({ seq: z.int(), kind: z.string() })) }).parse(json);
    const second = items.filter(({ kind }) => kind === 'model.responded')[1]?.seq ?? 0;
    const { page } = await tabOf('otto');
    await page.goto(`/runs/${run.id}?event=${second}`);
    await page.getByRole('button', { name: 'Fork' }).and(page.locator(':enabled')).waitFor();
    await page.locator('.event-pane').waitFor();
    await page.keyboard.press('Shift+F');
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('region', { name: 'What may be executed again' }).getByText('refund').waitFor();
    const answer = dialog.getByLabel('Answer of the model');
    await answer.fill((await answer.inputValue()).replaceAll('8000', '7000'));
    await page.keyboard.press('Control+Enter');
    await page.waitForURL((url) => /^\/runs\/run_/.test(url.pathname) && !url.pathname.endsWith(run.id));
    const forked = await read(new URL(page.url()).pathname.split('/').at(-1) ?? '');
    expect(forked).toMatchObject({ status: 'paused', forkedFrom: { runId: run.id, seq: second } });
    await page.getByRole('link', { name: 'Compare' }).click();
    await page.getByText('Then the runs part.').waitFor();
    await page.getByText('7000').first().waitFor();
    expect(await findingsOf(page)).toEqual([]);
  });

  test('a replay says that the agents of today do the same', async () => {
    const { run, wait } = await paused('cashier');
    await site.door.ask('anna', 'POST', `/api/v1/interruptions/${wait}/approve`, {});
    await read(run.id);
    const { page } = await tabOf('otto');
    await page.goto(`/runs/${run.id}?view=replay`);
    await page.getByRole('button', { name: 'Replay with the agents of today' }).click();
    await page.getByText('The agents of today do the same.').waitFor();
    expect(await findingsOf(page)).toEqual([]);
  });

  test('runs are narrowed by what they failed with, and many are cancelled at once', async () => {
    const { json } = await site.door.ask('otto', 'POST', '/api/v1/runs', {
      agent: 'cashier',
      input: 'go',
      maxTurns: 1,
    });
    const failed = await read(runView.parse(json).id);
    expect(failed.error?.code).toBe('limit_turns');
    const waiting = [await paused('clerk'), await paused('clerk')];
    const { page } = await tabOf('otto');
    await page.goto('/runs');
    await page.getByRole('button', { name: 'limit_turns' }).click();
    await page.getByRole('row').filter({ hasText: 'limit_turns' }).first().waitFor();
    expect(await page.getByRole('row').filter({ hasText: 'Paused' }).count()).toBe(0);
    await page.goto('/runs?status=paused&agent=clerk');
    await page.getByRole('checkbox').nth(1).waitFor();
    await page.keyboard.press('x');
    await page.getByRole('checkbox').nth(1).check();
    await page.getByRole('region', { name: 'Selected runs' }).getByRole('button', { name: 'Cancel' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel 2 runs' }).click();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    for (const { run } of waiting) expect(await read(run.id)).toMatchObject({ status: 'cancelled' });
    await page.goto('/runs?status=failed&error=limit_turns');
    await page.getByRole('checkbox').first().check();
    expect(await findingsOf(page)).toEqual([]);
  });

  test('an agent is shown with its tools, and with the definition that its runs have had', async () => {
    await paused('cashier');
    const { page } = await tabOf('otto');
    await page.goto('/agents');
    await page.getByRole('link', { name: 'cashier', exact: true }).click();
    await page.getByRole('row').filter({ hasText: 'refund' }).getByText('unsafe').waitFor();
    await page.getByText('the one of today').waitFor();
    await page.getByRole('button', { name: /^[0-9a-f:sh]{19}/ }).click();
    await page.locator('.json').getByText('instructions').first().waitFor();
    expect(await findingsOf(page)).toEqual([]);
  });

  test('the address of `holdfast console` signs in once, and asks before it signs in as someone else', async () => {
    const codeOf = async (actor: Actor): Promise<string> => {
      const { json } = await site.door.ask(actor, 'POST', '/api/v1/sign-ins/codes', {});
      return z.object({ code: z.string() }).parse(json).code;
    };
    const tab = await newTab();
    const { page } = tab;
    const code = await codeOf('anna');
    await page.goto(`/login#code=${code}`);
    await page.waitForURL('**/inbox**');
    expect(page.url()).not.toContain('code');
    await page.getByText('anna').first().waitFor();
    await page.goto('about:blank');
    await page.goto(`/login#code=${await codeOf('adam')}`);
    await page.getByText('You are signed in as').waitFor();
    await page.getByRole('button', { name: 'Stay' }).click();
    await page.getByText('anna').first().waitFor();
    await page.goto('about:blank');
    await page.goto(`/login#code=${await codeOf('adam')}`);
    await page.getByRole('button', { name: 'Sign in with the code' }).click();
    await page.getByText('adam').first().waitFor();
    const other = await newTab();
    await other.page.goto(`/login#code=${code}`);
    await other.page.getByRole('alert').getByText('The code was used').waitFor();
    await other.page.getByLabel('Token').waitFor();
  });

  test('what someone else decided is seen at once, and cannot be decided again', async () => {
    const { wait } = await paused('cashier');
    const { page } = await tabOf('anna');
    await page.goto(`/inbox/${wait}`);
    await page.getByRole('button', { name: 'Approve' }).and(page.locator(':enabled')).waitFor();
    await site.door.ask('adam', 'POST', `/api/v1/interruptions/${wait}/reject`, { message: 'Not today.' });
    await page.getByText('Not today.').waitFor();
    expect(await page.getByRole('button', { name: 'Approve' }).count()).toBe(0);
  });

  test('several calls of a tool are approved together, each shown, and what is odd is left to look at', async () => {
    const some = [await paused('cashier'), await paused('cashier')];
    const { page } = await tabOf('anna');
    await page.goto('/inbox?agent=cashier&order=newest');
    for (const { wait } of some) await page.getByLabel(`Select ${shortId(wait)}`).check();
    await page.getByRole('button', { name: 'Approve 2' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('8000').nth(1).waitFor();
    expect(await findingsOf(page)).toEqual([]);
    await page.keyboard.press('Control+Enter');
    await dialog.waitFor({ state: 'detached' });
    for (const { run } of some) expect(await read(run.id)).toMatchObject({ status: 'completed' });
    const odd = [await paused('hostile'), await paused('hostile')];
    await page.goto('/inbox?agent=hostile&order=newest');
    for (const { wait } of odd) await page.getByLabel(`Select ${shortId(wait)}`).check();
    await page.getByRole('button', { name: 'Approve 2' }).click();
    await dialog.getByText('hidden characters').nth(1).waitFor();
    await page.keyboard.press('Control+Enter');
    await dialog.getByText('Decide these by themselves').waitFor();
    for (const { run } of odd) expect(await read(run.id)).toMatchObject({ status: 'paused' });
  });

  test('the inbox has what waits, what I have approved, and what is decided', async () => {
    const { wait } = await paused('cashier');
    await site.door.ask('anna', 'POST', `/api/v1/interruptions/${wait}/approve`, {});
    const { page } = await tabOf('anna');
    await page.goto('/inbox');
    const tabs = page.getByRole('navigation', { name: 'Which' });
    await tabs.getByRole('button', { name: 'mine' }).click();
    await page.waitForURL('**/inbox?voted=me');
    await page.getByText('Nothing fits the filter').waitFor();
    await tabs.getByRole('button', { name: 'decided' }).click();
    await page.locator(`.inbox-list a[href^="/inbox/${wait}"]`).waitFor();
    await page.getByLabel('Status').selectOption('rejected');
    await page.locator(`.inbox-list a[href^="/inbox/${wait}"]`).waitFor({ state: 'detached' });
  });

  test('runs are narrowed by words such as tag:…, by what they wait for, and stand by duration', async () => {
    const { json } = await site.door.ask('otto', 'POST', '/api/v1/runs', {
      ...{ agent: 'clerk', input: 'Close the account.', metadata: { tags: ['friday'] } },
    });
    const tagged = await read(runView.parse(json).id);
    await paused('cashier');
    const { page } = await tabOf('vera');
    await page.goto('/runs');
    const rows = page.getByRole('group', { name: 'Runs' }).locator('tbody tr');
    await rows.nth(1).waitFor();
    await page.keyboard.press('/');
    await page.keyboard.type('tag:friday close');
    await page.keyboard.press('Enter');
    await page.waitForURL((url) => url.searchParams.get('tag') === 'friday' && url.searchParams.get('q') === 'close');
    await rows.nth(1).waitFor({ state: 'detached' });
    await rows.getByTitle(tagged.id).waitFor();
    await page.getByLabel('Waits for').selectOption('approval');
    await page.getByText('No run fits the filter').waitFor();
    await page.goto('/runs?waiting=question&agent=clerk');
    await rows.getByTitle(tagged.id).waitFor();
    await page.goto('/runs');
    await page.getByLabel('Order').selectOption('duration');
    await page.waitForURL('**/runs?order=duration');
    await site.door.ask('otto', 'POST', `/api/v1/runs/${tagged.id}/cancel`, {});
    await rows.getByTitle(tagged.id).waitFor();
    expect(await rows.getByText('approval').count()).toBe(0);
    expect(await findingsOf(page)).toEqual([]);
  });

  test('one tab reads for all what happens, and another one takes over when it closes', async () => {
    const { page, context } = await tabOf('anna');
    // The stream that the page has begun since the sign-in is none of those that are counted.
    await page.goto('about:blank');
    const streams: string[] = [];
    context.on('request', (request) => {
      const { pathname, search } = new URL(request.url());
      if (pathname === '/api/v1/events') streams.push(search);
    });
    await page.goto(`${site.door.http.url}/inbox?agent=clerk`);
    await expect.poll(() => streams.length).toBe(1);
    const second = await context.newPage();
    await second.goto(`${site.door.http.url}/inbox?agent=clerk`);
    await second.locator('main h1').first().waitFor({ state: 'attached' });
    const { wait } = await paused('clerk');
    for (const one of [page, second]) await one.locator(`.inbox-list a[href^="/inbox/${wait}"]`).waitFor();
    expect(streams).toEqual(['?cursor=now']);
    await page.close();
    await expect.poll(() => streams.length).toBe(2);
    const { wait: later } = await paused('clerk');
    await second.locator(`.inbox-list a[href^="/inbox/${later}"]`).waitFor();
  });

  test('a viewer sees what waits, and what is needed to decide', async () => {
    const { wait } = await paused('cashier');
    const { page } = await tabOf('vera');
    await page.goto(`/inbox/${wait}`);
    await page.getByText('Needs the role approver.').waitFor();
    expect(await page.getByRole('button', { name: 'Approve' }).isDisabled()).toBe(true);
  });

  test('an id that is pasted opens the run, with its failure on the first screen', async () => {
    const { json } = await site.door.ask('otto', 'POST', '/api/v1/runs', {
      agent: 'cashier',
      input: 'go',
      maxTurns: 2,
    });
    const { id, interruptions } = await read(runView.parse(json).id);
    await site.door.ask('anna', 'POST', `/api/v1/interruptions/${interruptions[0]}/approve`, {});
    expect(await read(id)).toMatchObject({ status: 'failed' });
    const { page } = await tabOf('vera');
    await page.keyboard.press('Control+k');
    await page.keyboard.insertText(id);
    await page.keyboard.press('Enter');
    await page.getByText('limit_turns').waitFor();
    await page.getByText('Raise maxTurns').waitFor();
    await page.keyboard.press('5');
    await page.getByRole('button', { name: 'Verify the log' }).click();
    await page.getByText('The log is whole up to event').waitFor();
  });

  test('hostile texts are drawn as text, with each hidden character shown', async () => {
    const { run, wait } = await paused('hostile');
    const { page } = await tabOf('anna');
    await page.goto(`/inbox/${wait}`);
    await page.getByText('hidden characters').first().waitFor();
    const order = await page.evaluate(ORDER_AFTER_OVERRIDE);
    expect(order).toEqual([...z.array(z.number()).min(5).parse(order)].sort((a, b) => a - b));
    expect(await page.locator('main img, main script, main style, main iframe').count()).toBe(0);
    await page.goto(`/runs/${run.id}`);
    await page.getByText('onerror=alert(1)').first().waitFor();
    for (const view of ['log', 'trajectory']) {
      await page.goto(`/runs/${run.id}?view=${view}&event=5`);
      await page.getByRole('complementary').waitFor();
      expect(await page.locator('main img, main script, main style, main iframe').count()).toBe(0);
    }
  });

  test('hostile texts are text on every other page, too', async () => {
    const { json } = await site.door.ask('otto', 'POST', '/api/v1/runs', {
      ...{ agent: 'hostile', input: HOSTILE, sessionId: '"><img/src=x/onerror=alert(1)>' },
    });
    const { id, interruptions } = await read(runView.parse(json).id);
    await site.door.ask('anna', 'POST', `/api/v1/interruptions/${interruptions[0]}/approve`, { message: HOSTILE });
    await site.door.ask('otto', 'POST', `/api/v1/runs/${id}/fork`, { at: 1 });
    expect((await read(id)).status).toBe('completed');
    const { page } = await tabOf('adam');
    const places = {
      ...{ '/runs': '<img src=x onerror=alert(1)>', '/runs?q=onerror': 'onerror=alert(1)' },
      [`/runs/${id}?view=log&q=onerror`]: 'onerror=alert(1)',
      [`/inbox/${interruptions[0]}?status=approved`]: 'onerror=alert(1)',
      ...{ '/data?tab=sessions': '<img/src=x/onerror=alert(1)>', [`/data?tab=review&at=${id}`]: 'onerror=alert(1)' },
      [`/sessions/${encodeURIComponent('"><img/src=x/onerror=alert(1)>')}`]: 'onerror=alert(1)',
      ...{ '/statistics': 'Runs by agent', '/operations': 'Queue', '/agents/hostile': 'refund' },
    };
    for (const [place, text] of Object.entries(places)) {
      await page.goto(place);
      await page.locator('main').getByText(text).first().waitFor();
      expect(await page.locator('main img, main script, main style, main iframe, main base').count(), place).toBe(0);
      expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth'), place).toBeLessThanOrEqual(0);
    }
  });

  test('a text is found in the log, and a place opens its event', async () => {
    const { run } = await paused('cashier');
    const { page } = await tabOf('vera');
    await page.goto(`/runs/${run.id}?view=log`);
    await page.locator('.log-row').nth(5).waitFor();
    await page.keyboard.press('/');
    await page.keyboard.type('broken ON arrival');
    await page.keyboard.press('Enter');
    const place = page.getByRole('list', { name: 'Places' }).getByRole('button').first();
    expect(await place.locator('mark').innerText()).toBe('Broken on arrival');
    await place.click();
    await page.getByRole('complementary').getByText('Broken on arrival').first().waitFor();
    expect(new URL(page.url()).searchParams.get('q')).toBe('broken ON arrival');
    expect(await findingsOf(page)).toEqual([]);
  });

  test('a server that is away is said so, and nothing is decided until it is back', async () => {
    const { wait } = await paused('cashier');
    const tab = await tabOf('anna');
    await tab.page.goto(`/inbox/${wait}`);
    await tab.page.getByRole('button', { name: 'Approve' }).and(tab.page.locator(':enabled')).waitFor();
    await tab.context.setOffline(true);
    await tab.page.getByText('No answer from the server').waitFor();
    expect(await tab.page.getByRole('button', { name: 'Approve' }).isDisabled()).toBe(true);
    await tab.context.setOffline(false);
    await tab.page.getByRole('button', { name: 'Approve' }).and(tab.page.locator(':enabled')).waitFor();
  });

  test('a run is started from the page of agents, and its words appear while it works', async () => {
    const { page } = await tabOf('otto');
    await page.goto('/agents');
    const card = page.getByRole('listitem').filter({ hasText: 'cashier' });
    await card.getByRole('button', { name: 'Start a run' }).click();
    await page.getByLabel('Input').fill('Refund order 7.');
    await page.keyboard.press('Control+Enter');
    await page.waitForURL('**/runs/run_*');
    await page.getByText('I read the policy first.').waitFor();
    await page.getByText('Waits for approval').waitFor();
    await page.getByRole('button', { name: 'Cancel' }).click();
    await page.getByRole('dialog').getByLabel('Reason').fill('Wrong order.');
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel the run' }).click();
    await page.getByText('Cancelled').first().waitFor();
  });

  test('the page of operations tells what webhooks were told, and why one fails', async () => {
    await paused('cashier');
    const { page } = await tabOf('vera', { width: 360, height: 740 });
    await page.goto('/operations');
    const webhooks = page.getByRole('region', { name: 'Webhooks' });
    const row = webhooks.getByRole('row', { name: /^on-call failing/ });
    await row.waitFor({ timeout: 30_000 });
    expect(await row.innerText()).toMatch(/failed \d+ times: .*, next try/s);
    // By keyboard its table is reached and scrolled.
    await webhooks.getByRole('group', { name: 'Webhooks' }).focus();
    await page.keyboard.press('ArrowRight');
    const moved = `document.activeElement.getAttribute('aria-label') === 'Webhooks' && document.activeElement.scrollLeft`;
    await expect.poll(() => page.evaluate(moved)).toBeGreaterThan(0);
    expect(await findingsOf(page)).toEqual([]);
  });

  test('the page of operations tells the queue, the errors and the money', async () => {
    const { json } = await site.door.ask('otto', 'POST', '/api/v1/runs', {
      agent: 'cashier',
      input: 'go',
      maxTurns: 1,
    });
    const failed = await read(runView.parse(json).id);
    const { page } = await tabOf('adam');
    await page.keyboard.press('g');
    await page.keyboard.press('o');
    const errors = page.getByRole('region', { name: 'Errors' });
    await errors.getByText('limit_turns').waitFor();
    await errors.getByText(failed.error?.message ?? 'no message').waitFor();
    await errors.getByRole('button', { name: 'day' }).click();
    await errors
      .getByRole('link', { name: /^cashier/ })
      .first()
      .click();
    await page.waitForURL('**/runs?status=failed&error=limit_turns&agent=cashier');
    await page.goto('/operations');
    await page.getByRole('region', { name: 'Queue' }).getByText('queued').waitFor();
    await page.getByRole('region', { name: 'Money' }).getByText('Budgets').waitFor();
  });

  test('statistics are drawn, and the same numbers stand in a table', async () => {
    await paused('clerk');
    const { page } = await tabOf('vera');
    await page.keyboard.press('g');
    await page.keyboard.press('s');
    const chart = page.getByRole('region', { name: 'Runs by agent' });
    await chart.getByRole('img').waitFor();
    expect(await chart.locator('rect').count()).toBeGreaterThan(0);
    await chart.getByRole('button', { name: 'Table' }).click();
    const [head, ...rows] = await chart.getByRole('row').allInnerTexts();
    expect(head).toContain('clerk');
    expect(rows).toHaveLength(7);
    await page.getByLabel('Time').selectOption('day');
    await page.getByRole('region', { name: 'Runs by status' }).getByRole('button', { name: 'Table' }).click();
    expect(await page.getByRole('region', { name: 'Runs by status' }).getByRole('row').count()).toBe(25);
    expect(await findingsOf(page)).toEqual([]);
  });

  test('an export is started and its files are downloaded', async () => {
    const { run, wait } = await paused('cashier');
    await site.door.ask('anna', 'POST', `/api/v1/interruptions/${wait}/approve`, {});
    await read(run.id);
    const { page } = await tabOf('otto');
    await page.keyboard.press('g');
    await page.keyboard.press('d');
    await page.getByRole('button', { name: 'Start an export' }).click();
    await page.getByLabel('New folder').fill('from-the-console');
    await page.keyboard.press('Control+Enter');
    const files = page.getByRole('list', { name: /^Files of exp_/ });
    await files.waitFor({ timeout: 30_000 });
    const [download] = await Promise.all([page.waitForEvent('download'), files.getByRole('link').first().click()]);
    expect(download.suggestedFilename()).toMatch(/^train-.*\.jsonl$/);
    expect(await findingsOf(page)).toEqual([]);
  });

  test('two keys judge a trajectory, and the next one opens', async () => {
    for (let n = 0; n < 2; n++) {
      const { wait, run } = await paused('clerk');
      await site.door.ask('anna', 'POST', `/api/v1/interruptions/${wait}/answer`, { value: 'first' });
      await read(run.id);
    }
    const { page } = await tabOf('otto');
    await page.goto('/data?tab=review');
    const link = page.getByRole('region', { name: 'Judge' }).locator('.id a').first();
    await link.waitFor();
    const judged = (await link.getAttribute('href'))?.split('/').at(-1);
    await page.getByText('Which account is meant?').first().waitFor();
    await page.keyboard.press('4');
    await page.keyboard.press('Enter');
    await page.waitForURL((url) => url.searchParams.get('at') !== null && url.searchParams.get('at') !== judged);
    const { json } = await site.door.ask('vera', 'GET', `/api/v1/runs/${judged}/rewards`);
    expect(json).toMatchObject({ items: [{ reward: 0.75, actor: 'otto' }] });
    expect(await findingsOf(page)).toEqual([]);
  });

  test('a key that follows another one at once finds what that has done', async () => {
    const { wait, run } = await paused('clerk');
    await site.door.ask('anna', 'POST', `/api/v1/interruptions/${wait}/answer`, { value: 'first' });
    await read(run.id);
    const { page } = await tabOf('otto');
    await page.goto(`/data?tab=review&at=${run.id}`);
    await page.getByRole('region', { name: 'Judge' }).getByText('Which account is meant?').waitFor();
    // Before the browser draws again, as two keys may come that are pressed fast on a slow machine.
    await page.evaluate(`(async () => {
      const press = (key) => document.body.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true }));
      press('5');
      await new Promise((resolve) => setTimeout(resolve, 0));
      press('Enter');
    })()`);
    await expect
      .poll(async () => (await site.door.ask('vera', 'GET', `/api/v1/runs/${run.id}/rewards`)).json)
      .toMatchObject({ items: [{ reward: 1, actor: 'otto' }] });
  });

  test('a session is read with its items, and leads to its runs', async () => {
    const body = { agent: 'clerk', input: 'Remember me.', sessionId: 'talk' };
    const { json } = await site.door.ask('otto', 'POST', '/api/v1/runs', body);
    const run = await read(runView.parse(json).id);
    await site.door.ask('anna', 'POST', `/api/v1/interruptions/${run.interruptions[0]}/answer`, { value: 'first' });
    await read(run.id);
    const { page } = await tabOf('vera');
    await page.goto('/data?tab=sessions');
    await page.getByRole('link', { name: 'talk', exact: true }).click();
    await page.getByText('Remember me.').waitFor();
    expect(await findingsOf(page)).toEqual([]);
    await page.getByRole('link', { name: 'Its runs' }).click();
    await page.waitForURL('**/runs?session=talk');
  });

  test('settings keep colours and single keys in this browser', async () => {
    const { page } = await tabOf('vera');
    await page.goto('/settings');
    await page.getByLabel('dark').check();
    await page.getByLabel('Single keys act').uncheck();
    await page.reload();
    expect(await page.getByLabel('dark').isChecked()).toBe(true);
    expect(await page.evaluate('getComputedStyle(document.documentElement).colorScheme')).toBe('dark');
    await page.keyboard.press('g');
    await page.keyboard.press('i');
    await page.getByRole('heading', { name: 'Settings' }).waitFor();
    expect(new URL(page.url()).pathname).toBe('/settings');
    expect(await findingsOf(page)).toEqual([]);
  });

  test('an operator of the installation sees health, counts and workers', async () => {
    const { page } = await tabOf('adam');
    await page.keyboard.press('g');
    await page.keyboard.press('o');
    await page.getByText('database: pass').waitFor();
    await page.getByRole('region', { name: 'Numbers' }).getByText('paused').waitFor();
  });

  test('who signs out sees nothing any more', async () => {
    const { page } = await tabOf('anna');
    await page.getByText('anna').first().click();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByLabel('Token').waitFor();
    await page.goto('/runs');
    await page.getByLabel('Token').waitFor();
  });

  test.each([
    { width: 1280, dark: false },
    { width: 1280, dark: true },
    { width: 360, dark: false },
    { width: 360, dark: true },
    { width: 1280, forcedColors: true },
  ])('no page has a finding of axe, or scrolls sideways: %o', async (options) => {
    const { run, wait } = await paused('cashier');
    const { page } = await tabOf('anna', options);
    const places = ['/inbox', `/inbox/${wait}`, '/runs', `/runs/${run.id}`, '/tasks', '/agents', '/operations'];
    places.push('/evolution', '/memory', '/statistics', '/data', '/data?tab=review', '/data?tab=sessions', '/settings');
    for (const view of ['log', 'trajectory', 'cost', 'evidence']) places.push(`/runs/${run.id}?view=${view}&event=3`);
    for (const place of places) {
      await page.goto(place);
      await page.locator('main h1, main h2').first().waitFor({ state: 'attached' });
      await page.locator('main .loading').first().waitFor({ state: 'detached' });
      expect(await findingsOf(page), place).toEqual([]);
      expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth'), place).toBeLessThanOrEqual(0);
    }
  });
});
