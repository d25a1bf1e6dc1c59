import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, extname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { faultsOf } from '../../scripts/site/check-site.js';
import { sidebarOf } from '../../scripts/site/sidebar.js';
import { asIndex, stagePages } from '../../scripts/site/stage.js';
import { describeBrowser, openBrowser } from '../harness/browser.js';
import { SLOW } from '../harness/slow.js';
import { pages, ROOT } from './pages.js';

/** The documentation as static pages. */

const dir = mkdtempSync(join(tmpdir(), 'holdfast-site-'));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

function write(folder: string, files: { readonly [path: string]: string }): string {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(dir, folder, path)), { recursive: true });
    writeFileSync(join(dir, folder, path), text);
  }
  return join(dir, folder);
}

const FEW = { 'CHANGELOG.md': '', 'CONTRIBUTING.md': '', 'SECURITY.md': '', 'workflows/sdk/README.md': '' };

it('a page keeps its path, a README becomes an index, and a file that is linked comes along', () => {
  const readme = '# Home\n[docs](docs/a.md#x) [ex](examples/) [licence](LICENSE) [web](https://example.com)\n';
  const root = write('repository', {
    ...FEW,
    'README.md': readme,
    LICENSE: 'free',
    'docs/a.md': '[home](../README.md)\n<!-- a comment -->\n```sh\n# [no link](nowhere.md)\n```\n',
    'examples/README.md': '# Examples\n',
  });
  const stage = join(dir, 'stage');
  expect(stagePages(root, stage).broken).toEqual([]);
  const staged = (path: string) => readFileSync(join(stage, path), 'utf8');
  expect(staged('index.md')).toBe(
    '# Home\n[docs](./docs/a.md#x) [ex](./examples/index.md) [licence](./LICENSE.txt) [web](https://example.com)\n',
  );
  expect(staged('docs/a.md')).toBe('[home](../index.md)\n```sh\n# [no link](nowhere.md)\n```\n');
  expect(staged('public/LICENSE.txt')).toBe('free');
});

it('a link of a page that leads to no file is named', () => {
  const root = write('broken', { ...FEW, 'README.md': '[gone](docs/gone.md)', 'docs/a.md': '', 'examples/a.md': '' });
  expect(stagePages(root, join(dir, 'stage-of-broken')).broken).toEqual(['README.md: docs/gone.md']);
});

it('a link to no page, to no anchor, and what another host would serve are named', () => {
  const site = write('site', {
    'index.html': '<a href="./docs/">in</a><a href="/base/docs/#there">in</a><a href="https://example.com">out</a>',
    'docs/index.html':
      '<h2 id="there"></h2><a href="gone.html"></a><a href="../#gone"></a><a href="/other/"></a>' +
      '<script src="//cdn.example/x.js"></script><img src="../a.png"><link rel="icon" href="https://cdn.example/i.png">',
  });
  expect(faultsOf(site, '/base/')).toEqual([
    'docs/index.html: loads //cdn.example/x.js',
    'docs/index.html: loads https://cdn.example/i.png',
    'docs/index.html: gone.html',
    'docs/index.html: ../#gone',
    'docs/index.html: /other/',
  ]);
});

it('the list beside the pages has every page under docs', () => {
  const listed = sidebarOf(ROOT).flatMap(({ items }) => items);
  expect(listed.filter(({ text }) => text === '')).toEqual([]);
  const wanted = pages().filter((page) => page.startsWith('docs/') && page !== 'docs/index.md');
  const links = new Set(listed.map(({ link }) => link));
  expect(wanted.filter((page) => !links.has(`/${asIndex(page).replace(/(index)?\.md$/, '')}`))).toEqual([]);
});

const TYPES: { readonly [ending: string]: string } = {
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.css': 'text/css',
};

if (SLOW)
  describeBrowser('npm run docs:site', () => {
    const out = join(dir, 'written');
    // What GitHub or a proxy would do: files, below a path.
    const server = createServer((request, response) => {
      const path = new URL(request.url ?? '/', 'http://site').pathname
        .replace(/^\/handbook/, '')
        .replace(/\/$/, '/index.html');
      try {
        const file = readFileSync(join(out, decodeURIComponent(path)));
        response.writeHead(200, { 'Content-Type': TYPES[extname(path)] ?? 'application/octet-stream' }).end(file);
      } catch {
        response.writeHead(404).end();
      }
    });
    beforeAll(async () => {
      const args = ['run', '--silent', 'docs:site', '--', '--out', out, '--base', '/handbook/'];
      await promisify(execFile)('npm', args, { cwd: ROOT, maxBuffer: 16 * 1024 * 1024 });
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    }, 500_000);
    afterAll(() => server.close());

    it('writes pages that a browser reads and searches, and asks no other host', async () => {
      const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
      const browser = await openBrowser();
      try {
        const page = await (await browser.newContext()).newPage();
        const asked: string[] = [];
        const wrong: string[] = [];
        page.on('request', (request) => asked.push(request.url()));
        page.on('response', (response) => response.status() >= 400 && wrong.push(response.url()));
        page.on('pageerror', (error) => wrong.push(error.message));
        await page.goto(`${origin}/handbook/`);
        await page.getByRole('link', { name: 'Documentation', exact: true }).first().click();
        await page.getByRole('heading', { name: 'Documentation', level: 1 }).waitFor();
        await page
          .getByRole('button', { name: /search/i })
          .first()
          .click();
        await page.getByRole('searchbox').fill('standing decisions');
        await page.getByRole('option').first().click();
        await page.waitForURL(/standing-decisions/);
        expect(await page.locator('main').innerText()).toContain('standing-decisions');
        // Braces in the text are text.
        await page.goto(`${origin}/handbook/docs/tasks/templates.html`);
        expect(await page.locator('main').innerText()).toContain('{{name}}');
        expect(asked.length).toBeGreaterThan(10);
        expect(asked.filter((url) => !url.startsWith(`${origin}/`) && !url.startsWith('data:'))).toEqual([]);
        expect(wrong).toEqual([]);
      } finally {
        await browser.close();
      }
    }, 120_000);
  });
