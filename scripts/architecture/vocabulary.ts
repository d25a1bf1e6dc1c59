import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { ROOT, roomOf, SOURCES, textOf } from './sources.js';

/** Idioms that hide who does what (CONTRIBUTING.md): in comments, texts, pages and titles of tests. */
const IDIOMS =
  /\b(?:whoever|anew|of which|by which|nobody|somebody|for ever|without a word|stands? still|stood still|held against)\b/gi;

/** Metaphors in place of the terms of the field, as names in code. */
const METAPHORS: ReadonlySet<string> = new Set([
  'door',
  'doors',
  'world',
  'parts',
  'looks',
  'leave',
  'purse',
  'beat',
  'room',
]);

export interface Uses {
  readonly idioms: number;
  /** Different names: to use one once more is no new one. */
  readonly names: number;
}

interface Found {
  readonly idioms: number;
  readonly names: readonly string[];
}

const TOKEN = /\/\/[^\n]*|\/\*[\s\S]*?\*\/|'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|`(?:\\.|[^`\\])*`|[A-Za-z_$][\w$]*/g;

const isText = (token: string): boolean => /^['"`/]/.test(token);
const idiomsIn = (text: string): number => [...text.matchAll(IDIOMS)].length;
const wordsIn = (name: string): string[] => name.split(/(?=[A-Z])|_/).map((word) => word.toLowerCase());
const isMetaphor = (name: string): boolean => wordsIn(name).some((word) => METAPHORS.has(word));

/** Counts the uses in source text: idioms in its comments and strings, metaphors in its names. */
export function usesIn(source: string): Found {
  const tokens = [...source.matchAll(TOKEN)].map(([token]) => token);
  return {
    idioms: tokens.reduce((sum, token) => sum + (isText(token) ? idiomsIn(token) : 0), 0),
    names: tokens.filter((token) => !isText(token) && isMetaphor(token)),
  };
}

const TITLE = /\b(?:it|test|describe)(?:\.\w+)*(?:\([^()]*\))?\(\s*('(?:\\.|[^'\\\n])*'|`[^`]*`|"[^"\n]*")/g;

/** Counts the idioms in the titles of tests. */
export const titleIdiomsIn = (source: string): number =>
  [...source.matchAll(TITLE)].reduce((sum, [, title = '']) => sum + idiomsIn(title), 0);

const pathsIn = (folder: string, end: string): string[] =>
  readdirSync(join(ROOT, folder)).flatMap((name) => {
    const path = join(folder, name);
    if (statSync(join(ROOT, path)).isDirectory()) return pathsIn(path, end);
    return path.endsWith(end) ? [path] : [];
  });

const sum = (found: readonly Found[]): Uses => ({
  idioms: found.reduce((total, { idioms }) => total + idioms, 0),
  names: new Set(found.flatMap(({ names }) => names)).size,
});

const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

/** The uses in each room, in the documentation, and in the titles of tests. */
export function vocabulary(): { readonly [place: string]: Uses } {
  const rooms = [...new Set(SOURCES.map(roomOf))].toSorted();
  const pages = [...pathsIn('docs', '.md'), 'README.md', 'CONTRIBUTING.md', 'AGENTS.md', 'CHANGELOG.md', 'SECURITY.md'];
  const prose = (path: string): Found => ({ idioms: idiomsIn(withoutRules(read(path))), names: [] });
  return {
    ...Object.fromEntries(
      rooms.map((room) => [
        room,
        sum(SOURCES.filter((path) => roomOf(path) === room).map((path) => usesIn(textOf(path)))),
      ]),
    ),
    docs: sum(pages.map(prose)),
    'test titles': sum(pathsIn('test', '.ts').map((path) => ({ idioms: titleIdiomsIn(read(path)), names: [] }))),
  };
}

/** The style guide names the idioms that it forbids. */
const withoutRules = (page: string): string => page.replaceAll(/<!-- vocabulary -->[\s\S]*?<!-- \/vocabulary -->/g, '');

export const LIST = join(ROOT, 'scripts/architecture/vocabulary.json');
const shape = z.record(z.string(), z.object({ idioms: z.int(), names: z.int() }));

/** How many uses there may still be: the numbers only get smaller. */
export const allowed = (): z.infer<typeof shape> => shape.parse(JSON.parse(readFileSync(LIST, 'utf8')));

/** What differs from the list: `grown` is not allowed, `shrunk` is to be written into it. */
export function compared(now: { readonly [place: string]: Uses }, list: { readonly [place: string]: Uses }) {
  const differences = [...new Set([...Object.keys(now), ...Object.keys(list)])].flatMap((place) =>
    (['idioms', 'names'] as const).map((what) => {
      const [uses, most] = [now[place]?.[what] ?? 0, list[place]?.[what] ?? 0];
      return { text: `${place}: ${uses} ${what}, allowed ${most}`, by: uses - most };
    }),
  );
  return {
    grown: differences.filter(({ by }) => by > 0).map(({ text }) => text),
    shrunk: differences.filter(({ by }) => by < 0).map(({ text }) => text),
  };
}
