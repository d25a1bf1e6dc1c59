import { readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { z } from 'zod';
import type { Settings } from '../../config.js';
import { cloudArchive } from './cloud-archive.js';
import { type Finding, fail, ok, warn } from './finding.js';

const ARCHIVE_MB = 500;
/** Beside the SDK of this version. */
export const ENTERPRISE = { name: '@dbos-inc/dbos-enterprise', minor: '5.3' };
const OTEL = '@dbos-inc/otel';

const manifest = z.object({ scripts: z.record(z.string(), z.string()).default({}) });
const lock = z.object({ packages: z.record(z.string(), z.object({ version: z.string().optional() })) });

export type Scripts = { readonly [name: string]: string | undefined };

/** Those of package.json; none where it cannot be read. */
export const scriptsOf = (dir: string): Scripts => jsonIn(dir, 'package.json', manifest)?.scripts ?? {};

/** Cloud installs what the lock file says, so that it is asked, not the directory of installed packages. */
export function checkPackages(dir: string, hidesCloud: boolean): Finding[] {
  const locked = jsonIn(dir, 'package-lock.json', lock);
  if (locked === null)
    return [
      fail('lock file', 'there is no package-lock.json that can be read', 'Run `npm install` and keep the file.'),
    ];
  const versionOf = (name: string): string | null => locked.packages[`node_modules/${name}`]?.version ?? null;
  const found = ok('lock file', `${Object.keys(locked.packages).length} packages`);
  if (hidesCloud) {
    const detail =
      'the start command takes DBOS__CLOUD away: it is not needed, and Cloud sees and recovers no workflows';
    return [found, warn('enterprise', detail, 'See docs/operate/dbos-cloud.md for what that means.')];
  }
  return [found, checkEnterprise(versionOf(ENTERPRISE.name)), checkOtel(versionOf(OTEL))];
}

function checkEnterprise(version: string | null): Finding {
  const { name, minor } = ENTERPRISE;
  if (version?.startsWith(`${minor}.`)) return ok('enterprise', `${name} ${version}`);
  const detail = version === null ? `${name} is not in the lock file` : `${name} is ${version}, expected ${minor}.x`;
  return fail(
    'enterprise',
    `${detail}: in Cloud the SDK does not launch without it`,
    'Ask DBOS for the package (npm does not have it), or take DBOS__CLOUD away: docs/operate/dbos-cloud.md.',
  );
}

function checkOtel(version: string | null): Finding {
  if (version !== null) return ok('otel', `${OTEL} ${version}`);
  return fail(
    'otel',
    `${OTEL} is not in the lock file: in Cloud the SDK does not launch without it`,
    `npm install ${OTEL}`,
  );
}

const NAMED_AT_MOST = 3;
const ENV_FILE = /(^|\/)\.env($|\.(?!example$))/;

/** What would be uploaded: not too much of it, and nothing secret. */
export function checkArchive({ dataDir }: Settings, dir: string): Finding {
  const { files, sizeBytes } = cloudArchive(dir);
  const data = `${relative(dir, dataDir).replaceAll('\\', '/')}/`;
  const secret = files.flatMap((path) => (path.startsWith(data) ? data : ENV_FILE.test(path) ? path : []));
  const size = `${files.length} files, ${(sizeBytes / 1e6).toFixed(1)} MB before compression`;
  if (secret.length > 0) {
    const named = [...new Set(secret)].slice(0, NAMED_AT_MOST).join(', ');
    return fail('archive', `${named} would be uploaded, and may hold secrets`, `Name it in .dbosignore: ${named}`);
  }
  if (sizeBytes <= ARCHIVE_MB * 1e6) return ok('archive', size);
  const wayOut = 'Name in .dbosignore what the application does not need.';
  return fail('archive', `${size}; Cloud takes ${ARCHIVE_MB} MB`, wayOut);
}

/** Null when there is no such file, or not of that form. */
function jsonIn<T>(dir: string, name: string, schema: z.ZodType<T>): T | null {
  try {
    return schema.parse(JSON.parse(readFileSync(join(dir, name), 'utf8')));
  } catch {
    return null;
  }
}
