import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { z } from 'zod';

/** The version of the Agents SDK that is installed; "unknown" if its package does not say. */
export function sdkVersion(): string {
  try {
    const entry = createRequire(import.meta.url).resolve('@openai/agents');
    const text = readFileSync(join(dirname(entry), '..', 'package.json'), 'utf8');
    return z.object({ version: z.string() }).parse(JSON.parse(text)).version;
  } catch {
    return 'unknown';
  }
}
