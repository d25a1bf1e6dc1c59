import { ERROR_GROUPS } from '../../src/core/errors/error-table.js';
import { code, table } from './markdown.js';

const HEAD = ['Code', 'Status', 'Then', 'Meaning', 'Way out'];

export const errorsBlock = (): string =>
  ERROR_GROUPS.map(({ title, about, rows }) =>
    [
      `## ${title}`,
      ...(about === null ? [] : [about]),
      table(
        HEAD,
        Object.entries(rows).map(([name, row]) => [code(name), String(row.status), row.then, row.title, row.hint]),
      ),
    ].join('\n\n'),
  ).join('\n\n');
