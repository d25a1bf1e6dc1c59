import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll } from 'vitest';

const ROOT = join(import.meta.dirname, '../..');
const run = promisify(execFile);

/** Holdfast as it is where packages are not installed: a copy of the build beside links to all other packages. */
export interface Bare {
  readonly install: (without: readonly string[]) => void;
  /** What a program prints. It is `program.js` beside `dist`. */
  readonly printed: (program: string, ...args: readonly string[]) => Promise<string>;
}

/** To be called once in a test file. */
export function bareInstallation(): Bare {
  const folder = mkdtempSync(join(tmpdir(), 'without-packages-'));
  const modules = join(ROOT, 'node_modules');
  beforeAll(() => {
    cpSync(join(ROOT, 'dist'), join(folder, 'dist'), { recursive: true, filter: (path) => !path.endsWith('.d.ts') });
    writeFileSync(join(folder, 'package.json'), '{"type": "module"}');
  });
  afterAll(() => rmSync(folder, { recursive: true }));
  return {
    install: (without) => {
      rmSync(join(folder, 'node_modules'), { recursive: true, force: true });
      for (const name of readdirSync(modules)) {
        mkdirSync(join(folder, 'node_modules', name.startsWith('@') ? name : ''), { recursive: true });
        const names = name.startsWith('@') ? readdirSync(join(modules, name)).map((one) => `${name}/${one}`) : [name];
        for (const one of names)
          if (!without.includes(one)) symlinkSync(join(modules, one), join(folder, 'node_modules', one));
      }
    },
    printed: async (program, ...args) => {
      writeFileSync(join(folder, 'program.js'), program);
      return (await run(process.execPath, ['program.js', ...args], { cwd: folder })).stdout;
    },
  };
}
