import { expect, it } from 'vitest';
import { pageText } from '../docs/pages.js';
import type { Figure } from './figures.js';
import { documentedRatios, worseThanDocumented } from './gate.js';

const spread = (median: number) => ({ median, min: median, max: median });
const figure = (ratio: number, more: Partial<Figure> = {}): Figure => ({
  ...{ row: 'agent-postgres', figure: '1 at once', unit: 'runs/s', side: 'holdfast', against: 'dbos' },
  ...{ ours: spread(1), theirs: spread(1), ratio: spread(ratio) },
  ...more,
});

it('every table of the page is read', () => {
  const found = documentedRatios(pageText('docs/operate/measurements.md'));
  expect(found).toContainEqual({
    ...{ row: 'agent-postgres', figure: '1 at once', against: null },
    ...{ least: expect.any(Number), most: expect.any(Number) },
  });
  expect(found).toContainEqual(expect.objectContaining({ row: 'command', against: 'docker run' }));
  expect(found).toContainEqual(expect.objectContaining({ row: 'blocks', figure: 'replay, processor' }));
  for (const { least, most } of found) expect(least).toBeLessThanOrEqual(most);
});

const PAGE = `
| \`agent-postgres\` | 1 at once | runs/s | 10.2 (8.68..10.7) | 7.48 (6.06..7.71) | 1.40 (1.32..1.43) | 4 |
| \`decision\` | p50 | ms | 11.5 | 5.39 | 2.14 | 2 |
| \`command\` | the first | ms | 331 | 261 (247..264) (\`docker run\`) | 1.27 (1.25..1.30) | 3 |
| \`command\` | the first | ms | 331 | 230 (224..239) (by the API) | 1.44 (1.34..1.48) | 3 |
`;
const latency = { row: 'decision', figure: 'p50', unit: 'ms' } as const;
const first = { row: 'command', figure: 'the first', unit: 'ms', against: 'docker run' } as const;

it.each<[string, Figure, number]>([
  ['as many runs', figure(1.4), 0],
  ['as few as in the worst round, and a tenth less', figure(1.2), 0],
  ['fewer', figure(1.1), 1],
  ['as fast', figure(2.2, latency), 0],
  ['slower', figure(2.5, latency), 1],
  ['much faster', figure(0.5, latency), 0],
  ['slower than the side that is named', figure(1.46, first), 1],
  ['as fast as the other side is', figure(1.46, { ...first, against: 'by the API' }), 0],
])('%s', (_what, one, worse) => {
  const judged = worseThanDocumented([one], documentedRatios(PAGE));
  expect(judged.judged).toBe(1);
  expect(judged.worse).toHaveLength(worse);
});

it('what the page does not have is not judged', () => {
  expect(worseThanDocumented([figure(0.1, { row: 'append' })], documentedRatios(PAGE))).toEqual({
    judged: 0,
    worse: [],
  });
});
