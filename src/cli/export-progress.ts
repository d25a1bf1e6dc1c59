import { setTimeout as sleep } from 'node:timers/promises';
import { type ExportView, isExportOver } from '../core/export.js';
import type { Client } from './client.js';
import { plain, print } from './print.js';

const LOOK_MS = 250;
const BAR = 30;
const LINE = 79;

/** Follows an export until it is over. On a terminal its progress is one line, which changes. */
export async function exportOver(client: Client, started: ExportView): Promise<ExportView> {
  let view = started;
  while (!isExportOver(view.status)) {
    await sleep(LOOK_MS);
    view = await client.getExport(view.id);
    if (process.stderr.isTTY) process.stderr.write(`\r${progressBar(view)}`);
  }
  if (process.stderr.isTTY) process.stderr.write('\n');
  return view;
}

/** As long as what it may stand over: it is written on the same line again. */
export function progressBar({ progress: { runs, done, rows, sending } }: ExportView): string {
  const [at, all] = sending === null ? [done, runs ?? 0] : [sending.sizeBytes, sending.ofSizeBytes];
  const full = Math.round((all === 0 ? 0 : at / all) * BAR);
  const text =
    sending === null
      ? `${done} of ${runs ?? '?'} runs, ${rows} rows`
      : `${sending.files} of ${sending.ofFiles} files sent, ${mebibytes(at)} of ${mebibytes(all)} MiB`;
  return `[${'#'.repeat(full)}${'.'.repeat(BAR - full)}] ${text}`.padEnd(LINE);
}

const mebibytes = (bytes: number): string => (bytes / 2 ** 20).toFixed(1);

export function printExport(view: ExportView): void {
  const { runs, done, rows, skipped } = view.progress;
  print(`export ${view.id} ${view.status}: ${done} of ${runs ?? '?'} runs, ${rows} rows`);
  for (const [why, count] of Object.entries(skipped)) print(`  left out, ${why}: ${count}`);
  if (view.erasedSince > 0) print(`  erased since it was completed: ${view.erasedSince} of its runs`);
  if (view.error !== null) print(`  ${plain(view.error.message)} (${view.error.code})\n  ${plain(view.error.hint)}`);
  print(`  ${plain(view.folder)}`);
  for (const { path, rows: count, sizeBytes } of view.files)
    print(`  ${plain(path)}  ${count} rows, ${sizeBytes} bytes`);
}
