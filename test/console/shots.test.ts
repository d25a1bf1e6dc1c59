import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { runView } from '../../src/core/runs/run.js';
import { aTask } from '../core/tasks/a-task.js';
import { describeBrowser, openBrowser, openTab, signIn } from '../harness/browser.js';
import { bearer, openDoor, TOKENS } from '../http/door.js';
import { CONSOLE_AGENTS } from './agents.js';
import { EVOLUTION, LEARNING_AGENTS, proposePoliteness } from './learning-agents.js';

/** `npm run console:shots` writes a picture of each page into this folder, to be looked at. Tests of every day write none. */
const FOLDER = process.env['HOLDFAST_CONSOLE_SHOTS'] ?? 'shots';
const wanted = process.env['npm_lifecycle_event'] === 'console:shots';

const LOOKS = [
  { width: 1280, dark: false },
  { width: 1280, dark: true },
  { width: 360, dark: false },
  { width: 360, dark: true },
];

describeBrowser('pictures of the console', () => {
  test.skipIf(!wanted)(
    'each page in both themes and widths',
    async () => {
      mkdirSync(FOLDER, { recursive: true });
      const door = await openDoor('pglite', [...CONSOLE_AGENTS, ...LEARNING_AGENTS], {
        ...{ retries: { most: 0 }, evolution: EVOLUTION },
      });
      const lines = [1, 2, 3, 4, 5, 6].map((seed) =>
        JSON.stringify({
          task: { ...aTask(), name: seed % 2 === 0 ? 'sort-lines' : 'find-bug' },
          agent: 'clerk',
          seed,
        }),
      );
      const submitted = await fetch(`${door.http.url}/api/v1/tasks/batch`, {
        ...{ method: 'POST', body: lines.join('\n') },
        headers: { ...bearer('otto'), 'Content-Type': 'application/x-ndjson', 'Idempotency-Key': 'monday' },
      });
      expect(await submitted.text()).toContain('"submitted":6');
      const start = async (agent: string, more: object = {}) => {
        const input = 'Refund order 1042: the parcel arrived broken.';
        const { json } = await door.ask('otto', 'POST', '/api/v1/runs', { agent, input, ...more });
        const { id } = runView.parse(json);
        return runView.parse((await door.ask('vera', 'GET', `/api/v1/runs/${id}?wait=20`)).json);
      };
      const settle = async (id: string | undefined, verdict: string, body: object): Promise<void> => {
        expect((await door.ask('anna', 'POST', `/api/v1/interruptions/${id}/${verdict}`, body)).status).toBe(200);
      };
      const failed = await start('cashier', { maxTurns: 2 });
      await settle(failed.interruptions[0], 'approve', {
        arguments: { order: '1042', cents: 6000 },
        message: 'Ask for the box.',
      });
      const rejected = await start('cashier');
      await settle(rejected.interruptions[0], 'reject', { message: 'Ask for a photo.' });
      const waiting = await start('cashier');
      const question = await start('clerk');
      const hostile = await start('hostile');
      await start('keeper');
      const patch = await proposePoliteness(door.ask);
      const places = {
        inbox: `/inbox/${waiting.interruptions[0]}`,
        list: '/inbox',
        question: `/inbox/${question.interruptions[0]}`,
        hostile: `/inbox/${hostile.interruptions[0]}`,
        runs: '/runs',
        longest: '/runs?order=duration',
        tasks: '/tasks',
        dead: '/tasks?dead=true',
        batches: '/batches',
        batch: '/batches/monday',
        agents: '/agents',
        evolution: '/evolution',
        patch: `/evolution/greeter/${patch}`,
        memory: '/memory',
        documents: '/memory/facts',
        document: '/memory/facts/document?key=tea',
        operations: '/operations',
        statistics: '/statistics',
        data: '/data',
        review: '/data?tab=review',
        sessions: '/data?tab=sessions',
        settings: '/settings',
        run: `/runs/${failed.id}`,
        paused: `/runs/${waiting.id}`,
        ...Object.fromEntries(
          ['log', 'trajectory', 'cost', 'evidence'].map((view) => [view, `/runs/${failed.id}?view=${view}&event=8`]),
        ),
      };
      const browser = await openBrowser();
      for (const look of LOOKS) {
        const tab = await openTab(browser, { url: door.http.url, ...look, height: look.width < 500 ? 740 : 800 });
        const shoot = async (name: string): Promise<void> => {
          await tab.page.waitForLoadState('networkidle', { timeout: 1500 }).catch(() => {});
          await tab.page.screenshot({
            path: join(FOLDER, `${name}-${look.width}-${look.dark ? 'dark' : 'light'}.png`),
          });
        };
        await tab.page.goto('/login');
        await shoot('login');
        await signIn(tab, TOKENS.anna.token);
        for (const [name, place] of Object.entries(places)) {
          await tab.page.goto(place);
          await tab.page.locator('main h1').first().waitFor({ state: 'attached' });
          await shoot(name);
        }
        await tab.page.goto(places.inbox);
        await tab.page.getByRole('button', { name: 'Approve' }).and(tab.page.locator(':enabled')).click();
        await shoot('approve');
        expect(tab.offences).toEqual([]);
      }
      await browser.close();
      await door.close();
    },
    600_000,
  );
});
