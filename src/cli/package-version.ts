import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { z } from 'zod';

const manifest = z.object({ name: z.literal('holdfast'), version: z.string() });

/** The version of this package, which lies above the source and above what is built from it. */
export function packageVersion(): string {
  for (let directory = import.meta.dirname; directory !== dirname(directory); directory = dirname(directory)) {
    try {
      return manifest.parse(JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8'))).version;
    } catch {
      // Not here: one directory up.
    }
  }
  return 'unknown';
}
