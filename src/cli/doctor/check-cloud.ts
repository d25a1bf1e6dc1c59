import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join, relative } from 'node:path';
import { type ParseArgsConfig, parseArgs } from 'node:util';
import { z } from 'zod';
import type { Settings } from '../../config.js';
import { codeOrText, HoldfastError } from '../../core/errors/errors.js';
import { type LinearPattern, linearPattern } from '../../core/limits/linear-pattern.js';
import { yaml } from '../formats.js';
import { type Finding, fail, failed, ok, warn } from './finding.js';

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
    return yaml().parse(readFileSync(path, 'utf8'));
  } catch (cause) {
    const why = cause instanceof yaml().YAMLError ? cause.message.split('\n')[0] : codeOrText(cause);
    throw new HoldfastError('config_invalid', `${path} cannot be read: ${why}`, {
      hint: 'DBOS Cloud needs that file beside package.json; docs/operate/dbos-cloud.md has a whole one.',
    });
  }
}

/** How the start command of `dbos-config.yaml` starts a server. */
export interface CloudStart {
  readonly command: string;
  /** What stands between a signal and the server: npm, or the shell in which the SDK starts the command. */
  readonly behind: string | null;
  /** Null: it does not call `serve`, so that nothing more is known of it. */
  readonly listens: { readonly host: string; readonly port: number; readonly serves: boolean } | null;
  /** It takes away the variable that tells the SDK that it is in Cloud. */
  readonly hidesCloud: boolean;
}

const FLAGS = { host: { type: 'string' }, port: { type: 'string' }, role: { type: 'string' } } as const;
const SCRIPT = /^npm (?:run )?(?:--\S+ )*(?:run )?([\w:-]+)$/;

/** The last command is the server; those before it run to their end. */
export function cloudStart(
  commands: readonly string[],
  scripts: { readonly [name: string]: string | undefined },
  settings: Settings,
): CloudStart {
  const command = commands.at(-1) ?? '';
  const script = SCRIPT.exec(command.trim())?.[1];
  const text = script === undefined ? command : (scripts[script] ?? command);
  return {
    command,
    behind: script !== undefined ? 'npm' : /^exec\s[^;&|]+$/.test(command.trim()) ? null : 'a shell',
    listens: listensOf(text, settings),
    hidesCloud: /-u\s*DBOS__CLOUD\b|--unset=DBOS__CLOUD\b|\bDBOS__CLOUD=(?!true\b)/.test(text),
  };
}

function listensOf(text: string, settings: Settings): CloudStart['listens'] {
  const words = text.trim().split(/\s+/);
  const serve = words.indexOf('serve');
  if (serve < 0) return null;
  const config: ParseArgsConfig = { args: words.slice(serve + 1), options: FLAGS, strict: false };
  const { host, port, role } = { ...settings, ...parseArgs(config).values };
  return { host: String(host), port: Number(port), serves: role !== 'worker' };
}

const PORT = 3000;
const EVERYWHERE = ['0.0.0.0', '::'];
const STOP_MS = 10_000;

/**
 * What DBOS Cloud needs of a directory and of the variables that the application will have there. Only what can be seen from
 * here: nothing is sent to Cloud.
 */
export function checkCloud(settings: Settings, dir: string): readonly Finding[] {
  const scripts = scriptsOf(dir);
  let file: CloudFile;
  try {
    file = readCloudFile(dir);
  } catch (error) {
    return [failed('dbos-config', error), checkBuild(scripts), ...checkSecrets(settings), checkArchive(settings, dir)];
  }
  const start = cloudStart(file.runtimeConfig.start, scripts, settings);
  return [
    ok('dbos-config', `application ${file.name}`),
    checkBuild(scripts),
    checkStart(start),
    checkListen(start),
    ...checkPackages(dir, start.hidesCloud),
    ...checkSecrets(settings),
    checkStop(settings),
    checkArchive(settings, dir),
  ];
}

function checkBuild(scripts: Scripts): Finding {
  if (scripts['build'] !== undefined) return ok('build', scripts['build']);
  return fail(
    'build',
    'package.json has no script "build", and Cloud runs `npm run build` after the upload',
    'Add one; "true" will do where nothing is to build.',
  );
}

function checkStart({ command, behind }: CloudStart): Finding {
  if (behind === null) return ok('start', command);
  return warn(
    'start',
    `${behind} stands before the server in "${command}": SIGTERM ends that, and not the server`,
    'Let the program take its place: `exec node dist/lib/main.js serve --host 0.0.0.0 --port 3000`.',
  );
}

function checkListen({ listens }: CloudStart): Finding {
  const wayOut = `Start \`serve --host 0.0.0.0 --port ${PORT}\` in ${CLOUD_FILE}.`;
  if (listens === null)
    return warn('listen', `the start command does not call \`serve\`, so that it is not checked`, wayOut);
  const { host, port, serves } = listens;
  if (!serves) return fail('listen', 'the role "worker" serves nothing, and Cloud expects a server', wayOut);
  if (port !== PORT) return fail('listen', `port ${port}, and Cloud sends requests to port ${PORT}`, wayOut);
  if (!EVERYWHERE.includes(host)) return fail('listen', `${host} is not reached from outside of the machine`, wayOut);
  return ok('listen', `port ${port} of ${host}`);
}

/** Variables that Cloud gives to the application. They are read from the environment of this command. */
function checkSecrets({ tokens, tokensFile, databaseUrl, workerId }: Settings): Finding[] {
  const set = "`dbos-cloud app env create -s HOLDFAST_TOKENS -v '[…]'`; set it here too, and check again.";
  const findings: Finding[] = [];
  if (tokensFile !== null)
    findings.push(fail('tokens', `HOLDFAST_TOKENS_FILE names a file that Cloud does not have`, `Use a secret: ${set}`));
  else if (tokens.length === 0)
    findings.push(
      fail('tokens', 'none are configured, and `serve` refuses 0.0.0.0 without them', `Make a secret: ${set}`),
    );
  else findings.push(ok('tokens', `${tokens.length} configured`));
  if (databaseUrl === null) findings.push(ok('database', 'that of Cloud: it sets DBOS_SYSTEM_DATABASE_URL'));
  else
    findings.push(
      warn(
        'database',
        'DATABASE_URL is set here; as a secret it would go before the database of Cloud',
        'Leave it out there.',
      ),
    );
  if (workerId !== null)
    findings.push(
      fail(
        'worker',
        `every machine would be worker ${workerId}, and all but one refused`,
        'Leave HOLDFAST_WORKER_ID out.',
      ),
    );
  return findings;
}

function checkStop({ shutdownGraceMs }: Settings): Finding {
  if (shutdownGraceMs <= STOP_MS) return ok('stop', `within ${shutdownGraceMs} ms of SIGTERM`);
  return fail(
    'stop',
    `HOLDFAST_SHUTDOWN_GRACE_MS is ${shutdownGraceMs}, and Cloud kills ${STOP_MS} ms after SIGTERM`,
    `Set it to ${STOP_MS} or less.`,
  );
}
