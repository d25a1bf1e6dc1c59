import { readFileSync } from 'node:fs';
import type { Engine, ExportView } from '../../src/index.js';
import { ADMIN } from '../harness/engine.js';
import type { Row } from './read-parquet.js';

/** Exports that are over, and what is in their files. */

export const rowsIn = (file: string): Row[] =>
  readFileSync(file, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));

export async function ended(engine: Engine, { id }: ExportView): Promise<ExportView> {
  for (;;) {
    const view = await engine.getExport(id, ADMIN);
    if (['completed', 'failed', 'cancelled'].includes(view.status)) return view;
    await new Promise((resolve) => setTimeout(resolve, 30));
  }
}
