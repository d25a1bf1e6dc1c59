import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** How a declaration names another file of the package: `from './x.js'` and `import('./x.js')`. */
const REFERENCE = /(?:from|import)\s*\(?\s*['"](\.[^'"]+)['"]/g;

/** The declaration files under a folder that no entry reaches: no compiler of an application ever opens them. */
export function unreachable(folder: string, entries: readonly string[]): readonly string[] {
  const reached = new Set<string>();
  const next = [...entries];
  for (let file = next.pop(); file !== undefined; file = next.pop()) {
    if (reached.has(file)) continue;
    reached.add(file);
    for (const [, to = ''] of readFileSync(file, 'utf8').matchAll(REFERENCE)) {
      next.push(join(dirname(file), to.replace(/\.js$/, '.d.ts')));
    }
  }
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((file) => join(folder, file))
    .filter((file) => file.endsWith('.d.ts') && !reached.has(file));
}
