import type { Browser } from 'playwright-core';
import { afterAll, afterEach, beforeAll, expect } from 'vitest';
import { type RunView, runView } from '../../src/core/runs/run.js';
import { openBrowser, openTab, signIn, type Tab, type TabOptions } from '../harness/browser.js';
import type { DatabaseKind } from '../harness/database.js';
import { type Actor, type Door, openDoor, TOKENS } from '../http/door.js';

/** A server and a browser for the tests of a suite. A tab that does what the console must not do fails its test. */
export function openSite(
  agents: Parameters<typeof openDoor>[1],
  config: Parameters<typeof openDoor>[2] = {},
  kind: DatabaseKind = 'pglite',
) {
  let door: Door;
  let browser: Browser;
  const tabs: Tab[] = [];
  beforeAll(async () => {
    door = await openDoor(kind, agents, config);
    browser = await openBrowser();
  });
  afterEach(async () => {
    for (const { context, offences } of tabs.splice(0)) {
      await context.close();
      expect(offences).toEqual([]);
    }
  });
  afterAll(async () => {
    await browser.close();
    await door.close();
  });

  /** Where no one has signed in. */
  async function newTab(more: Partial<TabOptions> = {}): Promise<Tab> {
    const tab = await openTab(browser, { url: door.http.url, ...more });
    tabs.push(tab);
    return tab;
  }
  return {
    get door() {
      return door;
    },
    newTab,
    tabOf: async (actor: Actor, more: Partial<TabOptions> = {}): Promise<Tab> => {
      const tab = await newTab(more);
      await signIn(tab, TOKENS[actor].token);
      return tab;
    },
    read: async (id: string): Promise<RunView> =>
      runView.parse((await door.ask('vera', 'GET', `/api/v1/runs/${id}?wait=20`)).json),
  };
}
