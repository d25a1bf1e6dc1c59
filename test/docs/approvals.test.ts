import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createJiti } from 'jiti';
import { afterAll, expect, it } from 'vitest';
import { loadConfig } from '../../src/cli/load-config.js';
import * as holdfast from '../../src/index.js';
import { openTestEngine } from '../harness/engine.js';
import { SLOW } from '../harness/slow.js';
import { pageText, ROOT } from './pages.js';

mkdirSync(join(ROOT, 'dist'), { recursive: true });
const dir = mkdtempSync(join(ROOT, 'dist', 'approvals-'));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

it.runIf(SLOW)(
  'the example of docs/approvals.md runs and does what it says',
  async () => {
    for (const [, code = ''] of pageText('docs/approvals.md').matchAll(/^```ts\n([\s\S]*?)^```/gm))
      writeFileSync(join(dir, /^\/\/ (\S+)/.exec(code)?.[1] ?? ''), code);
    const t = await openTestEngine('pglite', await loadConfig(join(dir, 'holdfast.config.ts'), { holdfast }));
    const jiti = createJiti(import.meta.url, { fsCache: false });
    const { decide } = await jiti.import<{ decide: (engine: holdfast.Engine) => Promise<unknown> }>(
      join(dir, 'decide.ts'),
    );
    try {
      expect(await decide(t.engine)).toMatchObject([
        'completed',
        [{ scope: ['bank:transfer:alice'], exact: true, actor: 'bea', revokedAt: null }],
      ]);
      const [run] = (await t.engine.listRuns({ limit: 1 }, holdfast.LOCAL_CALLER)).items;
      const { steps } = await t.engine.getTrajectory(run?.id ?? '', holdfast.LOCAL_CALLER);
      expect(steps.flatMap(({ observation }) => observation.map(({ outcome }) => outcome))).toEqual(
        [300, 501, 502].map((transferred) => ({ type: 'output', output: { transferred } })),
      );
    } finally {
      await t.close();
    }
  },
  90_000,
);
