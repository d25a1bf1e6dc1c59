import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { datasetCard } from '../../../src/core/exports/dataset-card.js';
import { EXPORT_FORMATS, startExport } from '../../../src/core/exports/export.js';

/** The head of a card, as a program that loads the data set reads it. */
const headOf = (card: string): Record<string, unknown> => parse(card.split('---\n')[1] ?? '');

it.each(EXPORT_FORMATS)(
  'the card of an export without a row names no configs and no features that are null: %s',
  (format) => {
    const request = startExport.parse({ format, to: { folder: 'f' } });
    const facts = { ...{ id: 'exp', tenant: 'default', snapshotAt: '2026-01-01', runs: 0, revision: 0 }, skipped: {} };
    const card = datasetCard({ ...facts, request, files: [] });
    expect(headOf(card)).toEqual({ size_categories: ['n<1K'], tags: ['agent-traces'] });
    const file = { path: 'data/train-0.jsonl', split: 'train' as const, rows: 1, sizeBytes: 9, sha256: 'a' };
    const full = headOf(datasetCard({ ...facts, request, files: [file] }));
    // A log of Inspect has no rows that a data set could be made of.
    if (format === 'inspect') expect(full).toEqual({ size_categories: ['n<1K'], tags: ['agent-traces'] });
    else expect(full['configs']).toMatchObject([{ data_files: [{ split: 'train' }] }]);
  },
);
