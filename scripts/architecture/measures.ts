import { dirname } from 'node:path';
import { EXCEPTIONS, SHELVES } from '../../test/shelves.js';
import { cycles } from './cycles.js';
import { IMPORTS, type Import, SOURCES, shelfOf, textOf } from './sources.js';

export const FILES_MOST = 25;
export const LINES_MOST = 400;

export const lines = (path: string): number => textOf(path).split('\n').length;

const median = (numbers: readonly number[]): number =>
  numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? 0;

const graphOf = (imports: readonly Import[]): ReadonlyMap<string, readonly string[]> => {
  const graph = new Map<string, string[]>();
  for (const { from, target } of imports) if (target !== null) graph.set(from, [...(graph.get(from) ?? []), target]);
  return graph;
};

export const valueCycles = (): string[][] => cycles(graphOf(IMPORTS.filter(({ typeOnly }) => !typeOnly)));
export const typeCycles = (): string[][] => cycles(graphOf(IMPORTS));

/** Imports of values that go against the order of shelves (test/shelves.ts). */
export const againstOrder = (): string[] => [
  ...new Set(
    IMPORTS.flatMap(({ from, target, typeOnly }) => {
      if (target === null || typeOnly) return [];
      const [here, there] = [shelfOf(from), shelfOf(target)];
      if (here === null || there === null || SHELVES.indexOf(there) <= SHELVES.indexOf(here)) return [];
      return [`${from} -> ${target}`];
    }),
  ),
];

/** Folders with more files than a reader takes in at once. */
export function largeFolders(): (readonly [string, number])[] {
  const counts = new Map<string, number>();
  for (const path of SOURCES) counts.set(dirname(path), (counts.get(dirname(path)) ?? 0) + 1);
  return [...counts].filter(([, count]) => count > FILES_MOST).toSorted(([, a], [, b]) => b - a);
}

/** Files that are too long. What is handed to others as one file (.mts) has no second one. */
export const longFiles = (): string[] => SOURCES.filter((path) => !path.endsWith('.mts') && lines(path) > LINES_MOST);

export const sizes = () => ({
  files: SOURCES.length,
  lines: SOURCES.reduce((sum, path) => sum + lines(path), 0),
  median: median(SOURCES.map(lines)),
  longest: Math.max(...SOURCES.map(lines)),
  exceptions: EXCEPTIONS.length,
});
