import { join } from 'node:path';
import { createJiti } from 'jiti';
import { afterAll, expect, it } from 'vitest';
import { loadConfig } from '../../src/cli/load-config.js';
import * as holdfast from '../../src/index.js';
import { openTestEngine } from '../harness/engine.js';
import { SLOW } from '../harness/slow.js';
import { pages } from './pages.js';
import { RUNS } from './running-examples.js';
import { exampleFolder, wholeExamples, writeExample } from './whole-examples.js';

/** Examples run as they are on their page, and what the page says comes true. OpenAI's models are stood in for. */

const { path: folder, remove } = exampleFolder();
afterAll(remove);

it('the pages on what agents do are among them', () => {
  const agents = [
    ...['agents/README', 'agents/mcp', 'agents/sub-agents', 'approvals/README', 'approvals/waiting'],
    'containers/scaffolds',
  ].map((name) => `docs/${name}.md`);
  expect(RUNS.map(({ page }) => page).sort()).toEqual(agents);
  expect(pages().filter((page) => agents.includes(page) && wholeExamples(page).length > 0)).toHaveLength(6);
});

it.runIf(SLOW).each(RUNS)(
  'the examples of $page run and do what it says',
  async ({ page, world, model, happens }) => {
    const place = await world?.(folder);
    const paths = wholeExamples(page).map((example) =>
      writeExample(folder, { ...example, code: place?.inPlace?.(example.code) ?? example.code }),
    );
    const [first = ''] = paths;
    const config = await loadConfig(join(first, '..', 'holdfast.config.ts'), { holdfast });
    const openai = { getModel: async () => holdfast.functionModel('openai', (request) => model?.(request) ?? []) };
    const t = await openTestEngine('pglite', { providers: { openai }, ...config });
    const jiti = createJiti(import.meta.url, { fsCache: false });
    try {
      await happens(t, { folder, load: (file) => jiti.import(join(first, '..', file)) });
    } finally {
      await t.close();
      await place?.end();
    }
  },
  90_000,
);
