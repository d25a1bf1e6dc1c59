import { setTimeout as sleep } from 'node:timers/promises';
import { type ExportView, isExportOver } from '../../../core/exports/export.js';
import type { Client } from '../../client.js';
import { cut, plain, print } from '../../print.js';
import type { ServerReturn } from '../../server-return.js';

const LOOK_MS = 250;
const BAR = 30;
const LINE = 79;

/** Where progress is shown: standard error. */
interface Screen {
  readonly isTTY?: boolean | undefined;
  readonly columns?: number | undefined;
  write(text: string): unknown;
}

/** Follows an export until it is over, also while its server restarts. Throws as `ServerReturn` does. */
export async function exportOver(client: Client, started: ExportView, server: ServerReturn): Promise<ExportView> {
  const shown = exportProgress(process.stderr);
  try {
    let view = started;
    while (!isExportOver(view.status)) {
      await sleep(LOOK_MS);
      const { id } = view;
      view = await server.ask(() => client.getExport(id));
      shown.show(view);
    }
    return view;
  } finally {
    shown.end();
  }
}

/** Shows how far an export is: on a terminal as one line, which changes, elsewhere as a line for each tenth. */
export function exportProgress(screen: Screen): {
  readonly show: (view: ExportView) => void;
  readonly end: () => void;
} {
  let tenths = 0;
  let isLineOpen = false;
  return {
    show: (view) => {
      if (screen.isTTY === true) {
        // A line that is broken cannot be written over.
        screen.write(`\r${cut(progressBar(view), (screen.columns ?? LINE + 1) - 1)}`);
        isLineOpen = true;
        return;
      }
      const { runs, done, sending } = view.progress;
      const sent = sending === null ? 0 : tenthsOf(sending.sizeBytes, sending.ofSizeBytes);
      const reached = tenthsOf(done, runs ?? 0) + sent;
      if (reached > tenths && !isExportOver(view.status)) screen.write(`${progressText(view)}\n`);
      tenths = reached;
    },
    end: () => {
      if (isLineOpen) screen.write('\n');
    },
  };
}

const tenthsOf = (at: number, all: number): number => (all === 0 ? 0 : Math.floor((at * 10) / all));

/** As long as what it may stand over: it is written on the same line again. */
export function progressBar(view: ExportView): string {
  const { runs, done, sending } = view.progress;
  const [at, all] = sending === null ? [done, runs ?? 0] : [sending.sizeBytes, sending.ofSizeBytes];
  const full = Math.round((all === 0 ? 0 : at / all) * BAR);
  return `[${'#'.repeat(full)}${'.'.repeat(BAR - full)}] ${progressText(view)}`.padEnd(LINE);
}

const progressText = ({ progress: { runs, done, rows, sending } }: ExportView): string =>
  sending === null
    ? `${done} of ${runs ?? '?'} runs, ${rows} rows`
    : `${sending.files} of ${sending.ofFiles} files sent, ${mebibytes(sending.sizeBytes)} of ${mebibytes(sending.ofSizeBytes)} MiB`;

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
