import { readFileSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';

/** A configuration that imports more files is watched in part. */
const FILES_MAX = 2000;

/** A relative path after `from`, `import` or `require`. */
const IMPORTED = /(?:\bfrom|\bimport|\brequire)\s*\(?\s*['"](\.{1,2}\/[^'"\n]+)['"]/g;

/** Endings of files that a path without one means, and those of TypeScript behind one of JavaScript. */
const ENDINGS = ['', '.ts', '.mts', '.cts', '.tsx', '.js', '.mjs', '.cjs', '.json', '/index.ts', '/index.js'];
const SOURCES: { readonly [ending: string]: readonly string[] } = {
  '.js': ['.ts', '.tsx'],
  '.mjs': ['.mts'],
  '.cjs': ['.cts'],
};

/** A configuration file, and every file that it imports by a relative path, directly or through others. */
export function importedFiles(config: string): readonly string[] {
  const found = new Set([config]);
  for (const file of found) {
    for (const [, path = ''] of textOf(file).matchAll(IMPORTED)) {
      const target = fileOf(resolve(dirname(file), path));
      if (target !== null && found.size < FILES_MAX) found.add(target);
    }
  }
  return [...found];
}

/** Tells apart two states of files: of one that changed, came or went. */
export const stampOf = (files: readonly string[]): string =>
  files
    .map((file) => {
      const stat = statSync(file, { throwIfNoEntry: false });
      return stat === undefined ? 'gone' : `${stat.mtimeMs} ${stat.size} ${stat.ino}`;
    })
    .join('\n');

function fileOf(path: string): string | null {
  const [ending = ''] = /\.[cm]?js$/.exec(path) ?? [];
  const stem = path.slice(0, path.length - ending.length);
  const names = [...ENDINGS.map((more) => `${path}${more}`), ...(SOURCES[ending] ?? []).map((one) => `${stem}${one}`)];
  return names.find((name) => statSync(name, { throwIfNoEntry: false })?.isFile() === true) ?? null;
}

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    // It is being written; it will have changed at the next look.
    return '';
  }
}
