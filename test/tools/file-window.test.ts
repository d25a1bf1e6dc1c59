import { expect, it } from 'vitest';
import { linesOf, windowAt, windowBeside, windowFrom, windowText } from '../../src/tools/swe/file-window.js';

const file = (lines: number): string => Array.from({ length: lines }, (_, index) => `line ${index + 1}\n`).join('');
const shows = ({ firstLine, lastLine }: { firstLine: number; lastLine: number }): [number, number] => [
  firstLine,
  lastLine,
];

it('a window is full where the file has enough lines, wherever it is asked for', () => {
  const text = file(250);
  expect(shows(windowAt('/f', text, 1, 100))).toEqual([1, 100]);
  expect(shows(windowAt('/f', text, 120, 100))).toEqual([104, 203]);
  expect(shows(windowAt('/f', text, 250, 100))).toEqual([151, 250]);
  expect(shows(windowFrom('/f', text, 9999, 100))).toEqual([151, 250]);
  expect(shows(windowFrom('/f', file(3), 2, 100))).toEqual([1, 3]);
});

it('scrolling comes to every line, and shows two again', () => {
  const text = file(250);
  const down = (firstLine: number) => windowBeside('/f', text, { firstLine, direction: 'down' }, 100);
  const up = (firstLine: number) => windowBeside('/f', text, { firstLine, direction: 'up' }, 100);
  expect([down(1), down(99), down(151), up(151), up(53), up(1)].map(shows)).toEqual([
    ...[
      [99, 198],
      [151, 250],
      [151, 250],
      [53, 152],
      [1, 100],
      [1, 100],
    ],
  ]);
});

it('is bounded, however long the lines of a file are', () => {
  const [long] = windowFrom('/f', 'x'.repeat(5000), 1, 100).lines;
  expect(long).toBe(`${'x'.repeat(1000)} (4000 more characters)`);
  const many = windowFrom('/f', `${'y'.repeat(1000)}\n`.repeat(500), 1, 500);
  expect(many.lines.join('').length).toBeLessThan(70_000);
  expect(windowText(many)).toContain(`(${500 - many.lastLine} lines below)`);
  expect(windowFrom('/f', `a\ud800${'z'.repeat(2000)}`, 1, 10).lines[0]?.isWellFormed()).toBe(true);
});

it('says where it stands', () => {
  expect(windowText(windowFrom('/f', file(30), 11, 10))).toBe(
    [
      '[/f, lines 11 to 20 of 30]',
      '(10 lines above)',
      ...linesOf(file(30))
        .slice(10, 20)
        .map((line, index) => `${index + 11}: ${line}`),
      '(10 lines below)',
    ].join('\n'),
  );
  expect(windowText(windowFrom('/f', '', 1, 10))).toBe('[/f is empty]');
});
