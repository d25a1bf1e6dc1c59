import { expect, it, vi } from 'vitest';
import { checkDataDir } from '../../src/cli/doctor/check-files.js';
import { printMore } from '../../src/cli/options.js';
import { cut, jsonText, plain, plainLines } from '../../src/cli/print.js';
import { readSettings } from '../../src/config.js';

const HOSTILE = `a\u2028b\u2029c\u{e0041}d\u009be\u202ef\ud800g`;
const SHOWN = 'a\\u2028b\\u2029c\\udb40\\udc41d\\u009be\\u202ef\\ud800g';

it('characters that a terminal obeys, or that end its lines, are shown', () => {
  expect(plain(HOSTILE)).toBe(SHOWN);
  expect(plain('one\ntwo')).toBe('one two');
  expect(plainLines(`one\n${HOSTILE}\r`)).toBe(`one\n${SHOWN}\\u000d`);
  expect(plain('zwölf Boxkämpfer 🦊')).toBe('zwölf Boxkämpfer 🦊');
});

it('JSON has the same value with them escaped, and one line where it is to have one', () => {
  const value = { [HOSTILE]: [HOSTILE, 'one\ntwo', '🦊'] };
  for (const text of [jsonText(value), jsonText(value, 2)]) {
    expect(JSON.parse(text)).toEqual(value);
    expect(text).toContain(SHOWN);
    expect(text).toContain('🦊');
  }
  expect(jsonText(value).split(/[\n\u2028\u2029]/)).toHaveLength(1);
});

it('no character is cut in half', () => {
  for (let columns = 1; columns < 8; columns++) {
    const short = cut('🦊🦊🦊🦊', columns);
    expect(short.isWellFormed()).toBe(true);
    expect(short.length).toBeLessThanOrEqual(columns);
  }
  expect(cut('🦊🦊', 4)).toBe('🦊🦊');
});

it('a data directory in a file system that takes none is named, the one that asks', () => {
  for (const dataDir of ['/proc/x', '/proc'])
    expect(checkDataDir({ ...readSettings({}), dataDir })).toMatchObject({ status: 'fail', check: 'data directory' });
});

it('a list names the rows that it cannot show, and says how it goes on', () => {
  const said: string[] = [];
  const write = vi.spyOn(process.stdout, 'write').mockImplementation((text) => said.push(String(text)) > 0);
  try {
    const error = { code: 'row_changed', message: `exports, row exp_1, request: it is no JSON.${HOSTILE}`, hint: 'x' };
    printMore({ unreadable: [{ id: 'exp_1', error }], nextCursor: '7' }, '--after');
    printMore({ nextCursor: null });
  } finally {
    write.mockRestore();
  }
  expect(said).toEqual([
    `CHANGED  exp_1: exports, row exp_1, request: it is no JSON.${SHOWN} (row_changed)\n`,
    'There are more; go on with --after 7.\n',
  ]);
});
