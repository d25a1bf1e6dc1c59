import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse, YAMLError } from 'yaml';
import { z } from 'zod';
import { HoldfastError } from '../../core/errors/errors.js';

export const CLOUD_FILE = 'dbos-config.yaml';

/**
 * What DBOS Cloud takes: the properties are those of the schema that the SDK ships, and what Cloud needs of them is not
 * optional here. A test holds the two against each other.
 */
export const cloudFile = z.strictObject({
  name: z.string().regex(/^[a-z0-9_-]{3,30}$/, 'expected 3 to 30 lowercase letters, digits, dashes and underscores'),
  language: z.literal('node'),
  system_database_url: z.string().optional(),
  system_database_schema_name: z.literal('dbos').optional(),
  database: z.strictObject({ app_db_name: z.string().optional(), migrate: z.array(z.string()).optional() }).optional(),
  telemetry: z.strictObject({ logs: z.strictObject({ logLevel: z.string().optional() }).optional() }).optional(),
  runtimeConfig: z.strictObject({ start: z.array(z.string()).min(1), setup: z.array(z.string()).optional() }),
  env: z.unknown().optional(),
});
export type CloudFile = z.infer<typeof cloudFile>;

/** Reads the file of a directory; throws `config_invalid`, which names what is wrong in it. */
export function readCloudFile(dir: string): CloudFile {
  const path = join(dir, CLOUD_FILE);
  const parsed = cloudFile.safeParse(contentOf(path));
  if (parsed.success) return parsed.data;
  const wrong = parsed.error.issues.map((issue) => `/${issue.path.join('/')}: ${issue.message}`);
  throw new HoldfastError('config_invalid', `${path} is not what DBOS Cloud takes: ${wrong.join('; ')}`, {
    hint: 'Correct the file; docs/operate/dbos-cloud.md has a whole one.',
  });
}

function contentOf(path: string): unknown {
  try {
    return parse(readFileSync(path, 'utf8'));
  } catch (cause) {
    const why = cause instanceof YAMLError ? cause.message.split('\n')[0] : codeOf(cause);
    throw new HoldfastError('config_invalid', `${path} cannot be read: ${why}`, {
      hint: 'DBOS Cloud needs that file beside package.json; docs/operate/dbos-cloud.md has a whole one.',
    });
  }
}

const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error ? String(error.code) : String(error);
