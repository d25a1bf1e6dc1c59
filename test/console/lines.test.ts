import { expect, test } from 'vitest';
import { folded, lineDifference } from '../../src/console/text/lines.js';

const shown = (from: string, to: string): string =>
  lineDifference(from, to)
    .map(({ kind, text }) => ({ same: ' ', gone: '-', new: '+' })[kind] + text)
    .join('|');

test('lines that both texts have stay, in their order', () => {
  expect(shown('a\nb\nc', 'a\nx\nc')).toBe(' a|-b|+x| c');
  expect(shown('a\nb\nc\nd', 'b\nd\ne')).toBe('-a| b|-c| d|+e');
  expect(shown('', 'a')).toBe('-|+a');
  expect(shown('a\na', 'a')).toBe(' a|-a');
});

test('of texts that are too long to compare, all that differs is replaced', () => {
  const lines = (letter: string): string => Array.from({ length: 600 }, (_, at) => `${letter}${at % 7}`).join('\n');
  const found = lineDifference(`head\n${lines('a')}\nfoot`, `head\n${lines('b')}\nfoot`);
  expect(found).toHaveLength(1202);
  expect([found[0], found.at(-1)].map((line) => line?.kind)).toEqual(['same', 'same']);
});

test('lines far from a change are counted only', () => {
  const text = Array.from({ length: 20 }, (_, at) => `line ${at}`);
  const pieces = folded(lineDifference(text.join('\n'), text.with(10, 'other').join('\n')));
  expect(pieces.map((one) => (typeof one === 'number' ? one : one.kind))).toEqual([
    ...[7, 'same', 'same', 'same', 'gone', 'new', 'same', 'same', 'same', 6],
  ]);
});
