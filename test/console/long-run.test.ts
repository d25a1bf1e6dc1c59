import { Agent } from '@openai/agents';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { runView } from '../../src/core/runs/run.js';
import { defineAgent, defineTool } from '../../src/index.js';
import { describeBrowser } from '../harness/browser.js';
import { call, say, scripted } from '../harness/script.js';
import { openSite } from './open-site.js';

const TURNS = 70;
const CALLS = 100;
const note = defineTool({
  name: 'note',
  description: 'Notes a number.',
  input: z.object({ n: z.int() }),
  output: z.object({ n: z.int() }),
  effect: 'pure',
  execute: ({ n }) => ({ n }),
});
const many = Array.from({ length: CALLS }, (_, n) => call('note', { n }, `m${n}`));
const turns = Array.from({ length: TURNS }, (_, n) => [say(`Turn ${n}.`), call('note', { n }, `t${n}`)]);
const AGENTS = [
  defineAgent({
    agent: new Agent({ name: 'long', model: scripted([...turns, many, [say('It is done.')]]), tools: [note] }),
    grants: ['tool:call:note'],
  }),
];

describeBrowser('a long run in the console', () => {
  const site = openSite(AGENTS);

  test('opens with its end, draws no more than fits some screens, and asks a bounded number of times', async () => {
    const { json } = await site.door.ask('otto', 'POST', '/api/v1/runs', {
      ...{ agent: 'long', input: 'go', maxTurns: TURNS + 5 },
    });
    const { id } = runView.parse(json);
    await expect.poll(async () => (await site.read(id)).status, { timeout: 60_000 }).not.toMatch(/queued|running/);
    expect((await site.read(id)).error).toBeNull();
    const { page } = await site.tabOf('vera');
    let asked = 0;
    page.on('request', (request) => {
      if (new URL(request.url()).pathname.startsWith('/api/v1/runs/')) asked++;
    });
    const drawn = () => page.locator('main *').count();
    await page.goto(`/runs/${id}`);
    await page.getByText('It is done.').first().waitFor();
    expect(await drawn()).toBeLessThan(3000);
    // The run, its stream, its family and its charges, and the run once more when the log is quiet.
    expect(asked).toBeLessThan(12);
    expect(await page.locator('.turn').count()).toBeLessThan(50);
    await page.getByRole('button', { name: /more calls$/ }).click();
    await page
      .getByRole('button', { name: /earlier ones$/ })
      .first()
      .click();
    await page.getByText('Turn 20.').waitFor();
    await page.goto(`/runs/${id}?view=log`);
    await page.locator('.log-row').nth(10).waitFor();
    expect(await drawn()).toBeLessThan(1500);
    await page.getByRole('button', { name: 'End' }).click();
    await page.locator('.log-row', { hasText: 'run.completed' }).waitFor();
    expect(await drawn()).toBeLessThan(1500);
  });
});
