import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { type LinearPattern, linearPattern } from '../../core/limits/linear-pattern.js';

/** What `dbos-cloud app deploy` leaves out by itself. */
const NEVER = ['**/.dbos', '**/node_modules', '**/dist', '**/.git', '**/venv', '**/.venv', '**/.python-version'];
const IGNORE_FILE = '.dbosignore';

interface CloudArchive {
  /** Paths relative to the directory, with `/`. */
  readonly files: readonly string[];
  /** Before compression. */
  readonly sizeBytes: number;
}

/** What a deploy would upload of a directory: all of it but what is never uploaded and what `.dbosignore` names. */
export function cloudArchive(dir: string): CloudArchive {
  const ignored = [...NEVER, ...ignoreLines(dir)].map(globPattern);
  const files: string[] = [];
  let sizeBytes = 0;
  const walk = (folder: string): void => {
    for (const entry of readdirSync(join(dir, folder), { withFileTypes: true })) {
      const path = folder === '' ? entry.name : `${folder}/${entry.name}`;
      if (ignored.some((pattern) => pattern.test(path))) continue;
      if (entry.isDirectory()) walk(path);
      else {
        const stat = statSync(join(dir, path), { throwIfNoEntry: false });
        if (stat?.isFile() !== true) continue;
        files.push(path);
        sizeBytes += stat.size;
      }
    }
  };
  walk('');
  return { files: files.sort(), sizeBytes };
}

function ignoreLines(dir: string): string[] {
  let text: string;
  try {
    text = readFileSync(join(dir, IGNORE_FILE), 'utf8');
  } catch {
    return [];
  }
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#'));
}

const WILD: { readonly [token: string]: string } = { '**/': '(?:.*/)?', '**': '.*', '*': '[^/]*', '?': '[^/]' };

/** From the root of the directory, as Cloud reads them; one of a directory is also that of what is in it. */
function globPattern(glob: string): LinearPattern {
  const tokens = glob.replace(/^\.?\/|\/$/g, '').match(/\*\*\/|\*\*|\*|\?|[^*?]+/g) ?? [];
  const source = tokens.map((token) => WILD[token] ?? token.replace(/[\\^$.|+()[\]{}]/g, '\\$&')).join('');
  return linearPattern(`^${source}(?:/.*)?$`);
}
