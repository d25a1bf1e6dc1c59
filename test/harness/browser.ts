import { existsSync } from 'node:fs';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';
import { describe } from 'vitest';
import { SLOW } from './slow.js';

const GIVEN = process.env['HOLDFAST_TEST_CHROMIUM'];
const CHROMIUM = [GIVEN ?? '/usr/bin/chromium'].find((path) => existsSync(path));
const REQUIRED = (process.env['HOLDFAST_TEST_REQUIRE'] ?? '').split(',').includes('browser');
const WHY_NOT = `no browser at ${GIVEN ?? '/usr/bin/chromium'} (HOLDFAST_TEST_CHROMIUM names another place)`;

/**
 * Runs a suite that needs Chromium, which takes long: HOLDFAST_TEST_SLOW=1 runs it, as CI does. A machine without it skips it with the
 * reason, or fails where it is required.
 */
export function describeBrowser(name: string, suite: () => void): void {
  if (!SLOW) describe.skip(`${name} (slow: HOLDFAST_TEST_SLOW=1 runs it)`, suite);
  else if (CHROMIUM !== undefined) describe(name, suite);
  else if (REQUIRED) throw new Error(`${WHY_NOT}, and HOLDFAST_TEST_REQUIRE names it`);
  else describe.skip(`${name} (${WHY_NOT})`, suite);
}

export interface Tab {
  readonly page: Page;
  readonly context: BrowserContext;
  /** What the page must never do: violate its policy, ask another origin, open a dialog, throw. */
  readonly offences: readonly string[];
}

export interface TabOptions {
  readonly url: string;
  readonly width?: number;
  readonly height?: number;
  readonly dark?: boolean;
  readonly forcedColors?: boolean;
}

export const openBrowser = (): Promise<Browser> =>
  chromium.launch({ executablePath: CHROMIUM ?? '', args: ['--no-sandbox', '--disable-gpu'] });

/** What is blocked by the policy of the page, the page says on its console. */
const TELL_VIOLATIONS = `document.addEventListener('securitypolicyviolation', (event) =>
  console.error('policy: ' + event.effectiveDirective + ' ' + event.blockedURI + ' ' + event.sample))`;

/** A tab of its own, with its own cookies. It writes down what the console must not do. */
export async function openTab(browser: Browser, options: TabOptions): Promise<Tab> {
  const { url, width = 1280, height = 800, dark = false, forcedColors = false } = options;
  const offences: string[] = [];
  const context = await browser.newContext({
    baseURL: url,
    viewport: { width, height },
    colorScheme: dark ? 'dark' : 'light',
    forcedColors: forcedColors ? 'active' : 'none',
    hasTouch: width < 500,
    reducedMotion: 'reduce',
    permissions: ['clipboard-read', 'clipboard-write'],
  });
  await context.addInitScript(TELL_VIOLATIONS);
  const page = await context.newPage();
  page.on('pageerror', (error) => offences.push(`threw: ${error.message}`));
  page.on('console', (message) => {
    if (message.text().startsWith('policy:')) offences.push(message.text());
  });
  page.on('dialog', (dialog) => {
    offences.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on('request', (request) => {
    if (!request.url().startsWith(url)) offences.push(`asked ${request.url()}`);
  });
  return { page, context, offences };
}

/** Signs in and waits until the inbox is shown. */
export async function signIn({ page }: Tab, token: string): Promise<void> {
  await page.goto('/login');
  await page.getByLabel('Token').fill(token);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('navigation', { name: 'Main' }).waitFor();
}
