import { expect, it } from 'vitest';
import { ERRORS } from '../../src/core/errors/errors.js';
import { codes, pageText, rows } from './pages.js';

it('docs/errors.md has every row of the table of errors, and no other', () => {
  const documented = rows(pageText('docs/errors.md')).map(([code = '', status, then, title, hint]) => [
    codes(code)[0] ?? '',
    { status: Number(status), then, title, hint },
  ]);
  expect(documented.length).toBe(new Set(documented.map(([code]) => code)).size);
  expect(Object.fromEntries(documented)).toEqual(ERRORS);
});
