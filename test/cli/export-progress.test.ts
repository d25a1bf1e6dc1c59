import { expect, it } from 'vitest';
import { exportProgress, progressBar } from '../../src/cli/commands/exports/export-progress.js';
import type { ExportView } from '../../src/index.js';

const viewOf = (progress: Partial<ExportView['progress']>, status: ExportView['status'] = 'running') =>
  ({ status, progress: { runs: null, done: 0, rows: 0, skipped: {}, sending: null, ...progress } }) as ExportView;
const at = (progress: Partial<ExportView['progress']>): string => progressBar(viewOf(progress));

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

const RUNS = 10_000;
const PART = 50;

/** What is written while a big export goes on to its end. */
function shown(screen: { readonly isTTY?: boolean; readonly columns?: number }): string {
  let text = '';
  const write = (more: string): void => {
    text += more;
  };
  const { show, end } = exportProgress({ ...screen, write });
  const progress = (done: number) => ({ runs: RUNS, done, rows: done - done / PART });
  show(viewOf({}, 'queued'));
  for (let done = 0; done < RUNS; done += PART) show(viewOf(progress(done)));
  const sizes = { ofFiles: 2, ofSizeBytes: 4 * 2 ** 20 };
  for (const files of [0, 1])
    show(viewOf({ ...progress(RUNS), sending: { files, sizeBytes: files * 2 ** 20, ...sizes } }));
  show(viewOf(progress(RUNS), 'completed'));
  end();
  return text;
}

it('progress is one line on a terminal, which changes', () => {
  const text = shown({ isTTY: true, columns: 100 });
  expect(text.endsWith('\n')).toBe(true);
  const lines = text.slice(1, -1).split('\r');
  expect(lines).toHaveLength(4 + RUNS / PART);
  expect(new Set(lines.map(({ length }) => length))).toEqual(new Set([79]));
  expect(lines).toContain(`[${'#'.repeat(15)}${'.'.repeat(15)}] 5000 of 10000 runs, 4900 rows`.padEnd(79));
  expect(lines.at(-1)?.trimEnd()).toBe(`[${'#'.repeat(30)}] 10000 of 10000 runs, 9800 rows`);
});

it('its line never breaks', () => {
  for (const line of shown({ isTTY: true, columns: 40 }).slice(1, -1).split('\r')) expect(line).toHaveLength(39);
});

it('progress is a line for each tenth where there is no terminal', () => {
  const lines = shown({}).trim().split('\n');
  expect(lines).toHaveLength(11);
  expect(lines[0]).toBe('1000 of 10000 runs, 980 rows');
  expect(lines.slice(-2)).toEqual(['0 of 2 files sent, 0.0 of 4.0 MiB', '1 of 2 files sent, 1.0 of 4.0 MiB']);
});

it('nothing is said of an export that was over at the first look', () => {
  let text = '';
  const write = (more: string): void => {
    text += more;
  };
  const { show, end } = exportProgress({ write });
  show(viewOf({ runs: 3, done: 3, rows: 3 }, 'completed'));
  end();
  expect(text).toBe('');
});
