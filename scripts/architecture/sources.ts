import { readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';

export const ROOT = join(import.meta.dirname, '../..');

const filesIn = (folder: string): string[] =>
  readdirSync(join(ROOT, folder)).flatMap((name) => {
    const path = join(folder, name);
    if (statSync(join(ROOT, path)).isDirectory()) return filesIn(path);
    return /\.(m?ts|tsx)$/.test(name) ? [path] : [];
  });

/** Every source file, relative to the root. */
export const SOURCES: readonly string[] = ['src', 'steps', 'workflows', 'migrations'].flatMap(filesIn);

const texts = new Map<string, string>();

export function textOf(path: string): string {
  const text = texts.get(path) ?? readFileSync(join(ROOT, path), 'utf8');
  texts.set(path, text);
  return text;
}

/** The room of a file: the folder below `src`, or the top folder. */
export const roomOf = (path: string): string => {
  const [top = '', second = ''] = path.split('/');
  return top === 'src' ? second.replace(/\.m?[tj]s$/, '') : top;
};

/** Rooms whose folders are not shelves of what an engine can do, or that put everything together. */
const WITHOUT_SHELVES: readonly string[] = [
  'http',
  'cli',
  'console',
  'demo',
  'metrics',
  'datasets',
  'object-store',
  'proof',
  'migrations',
];

/** The shelf of a file: the folder in its room. Null: it is in the room itself, or its room has no shelves. */
export const shelfOf = (path: string): string | null => {
  const parts = path.split('/');
  const [shelf] = parts.slice(parts[0] === 'src' ? 2 : 1, -1);
  return shelf === undefined || WITHOUT_SHELVES.includes(roomOf(path)) ? null : shelf;
};

export interface Import {
  readonly from: string;
  /** As it is written. */
  readonly to: string;
  /** The file that it leads to; null: a package. */
  readonly target: string | null;
  readonly typeOnly: boolean;
  /** Loaded by `import()` when the code comes to it. */
  readonly isLater: boolean;
  /** The names that are imported as values; those of `export … from` too. */
  readonly names: readonly string[];
}

const namesIn = (clause: string): string[] =>
  (/\{([^}]*)\}/.exec(clause)?.[1] ?? clause)
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '' && !name.startsWith('type '))
    .map((name) => name.replace(/^.* as /, ''));

function importsOf(path: string): Import[] {
  const text = textOf(path);
  const target = (to: string): string | null =>
    to.startsWith('.') ? normalize(join(dirname(path), to)).replace(/\.(m?)js$/, '.$1ts') : null;
  const written = [...text.matchAll(/^(?:import|export)\s+(type\s+)?(?:([^'";]*?)\s+from\s+)?'([^']+)'/gm)];
  const loaded = [...text.matchAll(/import\(\s*'([^']+)'\s*\)/g)];
  return [
    ...written.map(([, type, clause = '', to = '']) => ({
      from: path,
      to,
      target: target(to),
      typeOnly: type !== undefined,
      isLater: false,
      names: namesIn(clause),
    })),
    ...loaded.map(([, to = '']) => ({ from: path, to, target: target(to), typeOnly: false, isLater: true, names: [] })),
  ];
}

export const IMPORTS: readonly Import[] = SOURCES.flatMap(importsOf);
