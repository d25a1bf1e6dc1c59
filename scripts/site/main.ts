import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { build } from 'vitepress';
import { faultsOf } from './check-site.js';
import { stagePages } from './stage.js';

/**
 * Writes the documentation as static pages: `npm run docs:site -- [--out dist/site] [--base /path/]`. It fails where a link leads
 * nowhere, or where a page would load something from another host.
 */

const { values } = parseArgs({
  options: { out: { type: 'string', default: 'dist/site' }, base: { type: 'string', default: '/' } },
});
const root = join(import.meta.dirname, '../..');
const out = resolve(values.out);
const stage = join(root, 'dist', 'site-pages');

const { pages, broken } = stagePages(root, stage);
refuse(broken);
mkdirSync(join(stage, '.vitepress'), { recursive: true });
const asked = JSON.stringify([root, values.base, out]).slice(1, -1);
writeFileSync(
  join(stage, '.vitepress', 'config.ts'),
  `import { siteConfig } from '../../../scripts/site/config.js';\nexport default siteConfig(${asked});\n`,
);
rmSync(out, { recursive: true, force: true });
await build(stage);
refuse(faultsOf(out, values.base));
console.log(`${pages.length} pages in ${values.out}`);

function refuse(faults: readonly string[]): void {
  if (faults.length === 0) return;
  console.error(`The site was not written as it should be:\n${faults.map((fault) => `  ${fault}`).join('\n')}`);
  process.exit(1);
}
