import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { z } from 'zod';

const manifest = z.object({ name: z.literal('holdfast'), version: z.string() });

/** This package, which lies above the source and above what is built from it. */
function findPackage(): { readonly root: string; readonly version: string } | null {
  for (let directory = import.meta.dirname; directory !== dirname(directory); directory = dirname(directory)) {
    try {
      const { version } = manifest.parse(JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8')));
      return { root: directory, version };
    } catch {
      // Not here: one directory up.
    }
  }
  return null;
}

export const packageVersion = (): string => findPackage()?.version ?? 'unknown';

/** Where the tasks that ship are, each in a directory of its name. */
export const shippedTasks = (): string => join(findPackage()?.root ?? '.', 'src', 'tasks');
