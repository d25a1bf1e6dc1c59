import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { OPERATIONS } from '../../src/core/operations/table.js';

/** Operations without a command, and why. */
const WITHOUT: { readonly [operation: string]: string } = {
  bulkRuns: '`cancel` and `retry` take one run, and a shell repeats them',
  checkApproval: 'tells a form what is wrong while one types; `approve` says the same',
  countInterruptions: 'counts for a page; `inbox` lists them',
  countRuns: 'counts for a page; `stats` counts, too',
  decideMany: 'the inbox at a terminal decides one after the other',
  getAgent: 'what a page shows; `agents` with a name has its tools, grants and marks',
  getConsistency: 'for programs that keep signed checkpoints of their own',
  getDefinition: 'for programs that compare definitions; `agents` shows the one of today',
  getEvent: '`events` prints them',
  getFamily: '`show` lists the runs below and names the one above',
  getInterruptionContext: 'what a page shows beside an item; `inbox` has the story',
  getMetrics: 'for Prometheus',
  getSession: '`sessions` lists its items',
  getSeries: 'what a chart shows',
  listLogEntries: 'for programs that verify the log over all runs themselves; `verify --all` does it here',
  readExportFile: 'the folder of the export has its files',
  readTrajectory: 'the same as `getTrajectory`, which `trajectory` asks for',
  searchRuns: 'rows of a page; `runs` lists them',
};

function textIn(folder: string): string {
  const entries = readdirSync(folder, { withFileTypes: true });
  return entries
    .map((one) => {
      const path = join(folder, one.name);
      if (one.isDirectory()) return textIn(path);
      return path.endsWith('.ts') ? readFileSync(path, 'utf8') : '';
    })
    .join('\n');
}

test('each operation has a command, or a reason why it has none', () => {
  const text = textIn('src/cli');
  const unasked = Object.keys(OPERATIONS).filter((name) => !new RegExp(`\\b${name}\\b`).test(text));
  expect(unasked.sort()).toEqual(Object.keys(WITHOUT).sort());
});
