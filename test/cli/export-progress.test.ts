import { expect, it } from 'vitest';
import { progressBar } from '../../src/cli/export-progress.js';
import type { ExportView } from '../../src/index.js';

const at = (progress: Partial<ExportView['progress']>): string =>
  progressBar({ progress: { runs: null, done: 0, rows: 0, skipped: {}, sending: null, ...progress } } as ExportView);

it('the bar of an export says what it reads, and then what it sends', () => {
  const empty = '.'.repeat(30);
  expect(at({}).trimEnd()).toBe(`[${empty}] 0 of ? runs, 0 rows`);
  expect(at({ runs: 0 }).trimEnd()).toBe(`[${empty}] 0 of 0 runs, 0 rows`);
  const half = `${'#'.repeat(15)}${'.'.repeat(15)}`;
  expect(at({ runs: 200, done: 100, rows: 120 }).trimEnd()).toBe(`[${half}] 100 of 200 runs, 120 rows`);
  const sending = { files: 3, ofFiles: 9, sizeBytes: 40 * 2 ** 20, ofSizeBytes: 80 * 2 ** 20 };
  expect(at({ runs: 200, done: 200, sending }).trimEnd()).toBe(`[${half}] 3 of 9 files sent, 40.0 of 80.0 MiB`);
  // What stood on the line before is covered.
  expect(new Set([at({}), at({ sending })].map(({ length }) => length))).toEqual(new Set([79]));
});
