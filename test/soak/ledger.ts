import { appendFileSync, existsSync, readFileSync } from 'node:fs';

/** What the world has seen: one line for each payment, `<runId>:<callId>`. Written past the database, so that twice shows. */
export const LEDGER = process.env['LEDGER'] ?? '';

export const enter = (key: string): void => appendFileSync(LEDGER, `${key}\n`);

export const entriesOf = (file: string): readonly string[] =>
  existsSync(file) ? readFileSync(file, 'utf8').split('\n').slice(0, -1) : [];
