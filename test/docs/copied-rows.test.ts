import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { COPIES, COPY_NAMES } from '../../src/core/integrity/copied-rows.js';
import type { Column } from '../../src/core/integrity/copied-table.js';

const PAGE = readFileSync(join(import.meta.dirname, '../../docs/evidence/rows.md'), 'utf8');

/** What of a table is no evidence, one row for each reason. */
function rowsOf(name: (typeof COPY_NAMES)[number]): string[] {
  const byReason = new Map<string, string[]>();
  for (const [column, rule] of Object.entries<Column<never>>(COPIES[name].columns))
    if ('because' in rule) byReason.set(rule.because, [...(byReason.get(rule.because) ?? []), column]);
  return [...byReason].map(
    ([why, columns]) => `| ${columns.map((column) => `\`${name}.${column}\``).join(', ')} | ${why} |`,
  );
}

it('docs/evidence/rows.md names every column of a copied row that is no evidence, and why', () => {
  const expected = COPY_NAMES.flatMap(rowsOf);
  const section = PAGE.split('## Not compared')[1]?.split('\n## ')[0] ?? '';
  const written = section.split('\n').filter((line) => line.startsWith('| `'));
  expect(written).toEqual(expected);
});
