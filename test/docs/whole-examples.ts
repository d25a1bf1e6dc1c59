import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pageText, ROOT } from './pages.js';

/** Examples that begin with their file name are whole. */

export interface Example {
  readonly page: string;
  readonly file: string;
  readonly code: string;
}

export const wholeExamples = (page: string): Example[] =>
  [...pageText(page).matchAll(/^```ts\n([\s\S]*?)^```/gm)].flatMap(([, code = '']) => {
    const [, file] = /^\/\/ (\S+\.ts)\n/.exec(code) ?? [];
    return file === undefined ? [] : [{ page, file, code }];
  });

/** A folder inside the repository, so that imports find what is installed. */
export function exampleFolder(): { readonly path: string; readonly remove: () => void } {
  mkdirSync(join(ROOT, 'dist'), { recursive: true });
  const path = mkdtempSync(join(ROOT, 'dist', 'examples-'));
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) };
}

/** Writes an example to its file in a folder of its page. Returns the path. */
export function writeExample(folder: string, { page, file, code }: Example): string {
  const path = join(folder, page.replaceAll(/\W/g, '-'), file);
  mkdirSync(join(path, '..'), { recursive: true });
  writeFileSync(path, code);
  return path;
}
