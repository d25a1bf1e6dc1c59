import { setTimeout as sleep } from 'node:timers/promises';
import { type ExportView, isExportOver } from '../core/export.js';
import type { Client } from './client.js';
import { plain, print } from './print.js';

const LOOK_MS = 250;
const BAR = 30;

/** Follows an export until it is over. On a terminal its progress is one line, which changes. */
export async function exportOver(client: Client, started: ExportView): Promise<ExportView> {
  let view = started;
  while (!isExportOver(view.status)) {
    await sleep(LOOK_MS);
    view = await client.getExport(view.id);
    if (process.stderr.isTTY) process.stderr.write(`\r${bar(view)}`);
  }
  if (process.stderr.isTTY) process.stderr.write('\n');
  return view;
}

function bar({ progress: { runs, done, rows } }: ExportView): string {
  const part = runs === null || runs === 0 ? 0 : done / runs;
  const full = Math.round(part * BAR);
  return `[${'#'.repeat(full)}${'.'.repeat(BAR - full)}] ${done} of ${runs ?? '?'} runs, ${rows} rows`;
}

export function printExport(view: ExportView): void {
  const { runs, done, rows, skipped } = view.progress;
  print(`export ${view.id} ${view.status}: ${done} of ${runs ?? '?'} runs, ${rows} rows`);
  for (const [why, count] of Object.entries(skipped)) print(`  left out, ${why}: ${count}`);
  if (view.error !== null) print(`  ${plain(view.error.message)} (${view.error.code})\n  ${plain(view.error.hint)}`);
  print(`  ${plain(view.folder)}`);
  for (const { path, rows: count, sizeBytes } of view.files)
    print(`  ${plain(path)}  ${count} rows, ${sizeBytes} bytes`);
}
