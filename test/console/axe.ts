import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Page } from 'playwright-core';
import { z } from 'zod';

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

const results = z.object({
  violations: z.array(
    z.object({ id: z.string(), nodes: z.array(z.object({ html: z.string(), failureSummary: z.string() })) }),
  ),
});

/** What axe-core finds on a page: the rule and the elements. */
export async function findingsOf(page: Page): Promise<readonly string[]> {
  // What a driver evaluates is exempt from the policy of the page, which blocks the script otherwise.
  await page.evaluate(AXE);
  const { violations } = results.parse(await page.evaluate('axe.run()'));
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${id}: ${html}\n${failureSummary}`),
  );
}
