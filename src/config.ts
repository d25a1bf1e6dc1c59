import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { z } from 'zod';
import { invalidSettings, parseTokens, type Token } from './core/access-token.js';
import { doubleKeys, keySettings } from './core/evidence/key-settings.js';
import { WORKER_ROLES } from './core/queue/worker.js';
import {
  database,
  dockerHost,
  exportRoots,
  header,
  host,
  hubRoots,
  labels,
  modelServer,
  ollamaServer,
  oneOf,
  optional,
  port,
  problemOf,
  region,
  type Setting,
  secret,
  setting,
  text,
  valueIn,
  webAddress,
  whole,
  workerId,
} from './core/setting.js';

const path = { schema: z.string().transform((value) => resolve(value)), expected: 'a path' };
const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;
const TEN_YEARS_MS = 315_360_000_000;

const TABLE = {
  databaseUrl: optional(
    'DATABASE_URL',
    database,
    'PostgreSQL database; it is made when it is missing. Without one: embedded PGlite in the data directory.',
  ),
  dbosDatabaseUrl: optional(
    'DBOS_SYSTEM_DATABASE_URL',
    database,
    'As `DATABASE_URL`, which goes first; of DBOS Cloud.',
  ),
  dataDir: setting('HOLDFAST_DATA_DIR', path, '.holdfast', 'Directory of the embedded database and of the made token.'),
  configFile: optional(
    'HOLDFAST_CONFIG',
    path,
    'Configuration file. Default: `holdfast.config` with the ending `.ts`, `.mts`, `.js`, `.mjs` or `.cjs`, where it starts.',
  ),
  role: setting(
    'HOLDFAST_ROLE',
    oneOf(WORKER_ROLES),
    'all',
    'What `serve` does: `all` serves the API and executes runs, `api` and `worker` do one of them.',
  ),
  host: setting(
    'HOLDFAST_HOST',
    host,
    '127.0.0.1',
    'Address to listen on. Beyond loopback only with configured tokens.',
  ),
  port: setting('HOLDFAST_PORT', port, '3000', 'Port to listen on; 0 takes a free one.'),
  commonPort: optional('PORT', port, 'The same as `HOLDFAST_PORT`, which goes first.'),
  metricsPort: optional(
    'HOLDFAST_METRICS_PORT',
    port,
    'Port on which a worker that serves no API answers to Prometheus. Without one: none.',
  ),
  tokens: optional(
    'HOLDFAST_TOKENS',
    secret,
    'Tokens as a JSON list of `{token, actor, role, tenant?, installation?}`, each token of at least 16 characters.',
  ),
  tokensFile: optional('HOLDFAST_TOKENS_FILE', path, 'File with that list, instead of `HOLDFAST_TOKENS`.'),
  console: setting(
    'HOLDFAST_CONSOLE',
    oneOf(['on', 'off']),
    'on',
    'Whether the server serves the [console](console.md), and browsers may sign in.',
  ),
  publicUrl: optional(
    'HOLDFAST_PUBLIC_URL',
    webAddress,
    'Address at which browsers reach the server behind a proxy. Beyond this machine they sign in over https:// alone.',
  ),
  maxBodyBytes: setting(
    'HOLDFAST_MAX_BODY_BYTES',
    whole(1024, 104_857_600),
    '1048576',
    'Largest body of a request, in bytes.',
  ),
  maxTaskBytes: setting(
    'HOLDFAST_MAX_TASK_BYTES',
    whole(1024, 104_857_600),
    '9437184',
    'Largest body that submits a task, and largest line of a batch, in bytes.',
  ),
  logLevel: setting('HOLDFAST_LOG_LEVEL', oneOf(LOG_LEVELS), 'info', 'Least level that is logged.'),
  logSteps: setting(
    'HOLDFAST_LOG_STEPS',
    oneOf(['on', 'off']),
    'off',
    'Whether a worker logs [a line for each step](operate/step-lines.md) that it executes.',
  ),
  workerId: optional(
    'HOLDFAST_WORKER_ID',
    workerId,
    'Name of this process among the workers. Without one: the engine chooses.',
  ),
  vmId: optional('DBOS__VMID', workerId, 'The same as `HOLDFAST_WORKER_ID`, which goes first; DBOS Cloud sets it.'),
  concurrency: setting('HOLDFAST_CONCURRENCY', whole(1, 10_000), '32', 'Segments that a worker executes at once.'),
  turnsPerSegment: setting('HOLDFAST_TURNS_PER_SEGMENT', whole(1, 10_000), '50', 'Turns after which a segment ends.'),
  crashLimit: setting(
    'HOLDFAST_CRASH_LIMIT',
    whole(1, 1_000_000),
    '5',
    'Times that a worker may die with a run, or with one piece of an export, before it fails. No step lies between those deaths, and at all but two of them nothing else was at work.',
  ),
  startWaitMs: setting('HOLDFAST_START_WAIT_MS', whole(0, 3_600_000), '600000', 'Milliseconds to wait for a database.'),
  stillAfterMs: setting(
    'HOLDFAST_STILL_AFTER_MS',
    whole(5_000, 3_600_000),
    '15000',
    'Milliseconds without a heartbeat after which other workers end the session of a frozen worker, and take over its runs.',
  ),
  approvalTimeoutMs: setting(
    'HOLDFAST_APPROVAL_TIMEOUT_MS',
    whole(0, TEN_YEARS_MS),
    '604800000',
    'Milliseconds until an approval expires, if its tool does not say; 0: never.',
  ),
  shutdownGraceMs: setting(
    'HOLDFAST_SHUTDOWN_GRACE_MS',
    whole(0, 3_600_000),
    '10000',
    'Milliseconds that a stop waits for work in flight.',
  ),
  ollamaApiKey: optional('OLLAMA_API_KEY', secret, 'Key of the Ollama provider; a local server needs none.'),
  ollamaHost: optional(
    'OLLAMA_HOST',
    ollamaServer,
    'Address of the Ollama server. Without one: `http://127.0.0.1:11434`.',
  ),
  cassettesDir: setting(
    'HOLDFAST_CASSETTES',
    path,
    'cassettes',
    'Directory of the cassettes that `replay/<name>` plays.',
  ),
  exportDir: optional(
    'HOLDFAST_EXPORT_DIR',
    path,
    'Directory below which trajectories are exported. Without one: `exports` in the data directory.',
  ),
  exportBuckets: optional(
    'HOLDFAST_EXPORT_BUCKETS',
    exportRoots,
    'Places in an object store below which trajectories may be exported, with spaces between. Without one: none.',
  ),
  exportHub: optional(
    'HOLDFAST_EXPORT_HUB',
    hubRoots,
    'Places on a [Hugging Face Hub](data/hub.md) to which trajectories may be exported, with spaces between. Without one: none.',
  ),
  hubUrl: optional('HF_ENDPOINT', modelServer, 'Address of the Hub. Without one: `https://huggingface.co`.'),
  artifacts: optional(
    'HOLDFAST_ARTIFACTS',
    text,
    'Where [artifacts of tasks](tasks/artifacts.md) are kept: a directory, or `s3://bucket/prefix`. Without one: `artifacts` in the data directory.',
  ),
  objectStoreUrl: optional(
    'AWS_ENDPOINT_URL_S3',
    modelServer,
    'Address of an object store that speaks S3. Without one: Amazon S3 in the region.',
  ),
  objectStoreRegion: setting('AWS_REGION', region, 'us-east-1', 'Region of the object store.'),
  dockerHost: optional(
    'DOCKER_HOST',
    dockerHost,
    'Engine of the containers of runs. Without one: `unix:///var/run/docker.sock`, if an agent has an environment.',
  ),
  dockerCertPath: optional(
    'DOCKER_CERT_PATH',
    text,
    'Folder with `ca.pem`, `cert.pem` and `key.pem` for an engine at `tcp://…`. Without it such an engine must be on this machine.',
  ),
  dockerPatienceMs: setting(
    'HOLDFAST_DOCKER_PATIENCE_MS',
    whole(0, 3_600_000),
    '120000',
    'Milliseconds that a container engine which does not answer is waited for before runs that need it fail.',
  ),
  workerLabels: optional(
    'HOLDFAST_WORKER_LABELS',
    labels,
    'Labels of this worker as `gpu=a100,zone=b`, for [runs that require them](operate/worker-requirements.md).',
  ),
  workerContainers: optional(
    'HOLDFAST_WORKER_CONTAINERS',
    whole(0, 10_000),
    'Runs with a container that this worker executes at once. Without one: as `HOLDFAST_CONCURRENCY`.',
  ),
  workerCpuCores: optional(
    'HOLDFAST_WORKER_CPU_CORES',
    whole(1, 100_000),
    'Processors for runs that require some. Without one: those of the container engine.',
  ),
  workerMemoryMb: optional(
    'HOLDFAST_WORKER_MEMORY_MB',
    whole(16, 16_777_216),
    'Megabytes of memory for runs that require some. Without one: those of the container engine.',
  ),
  recordTo: optional(
    'HOLDFAST_RECORD_TO',
    path,
    'Directory to which the traffic of all known providers of models is recorded.',
  ),
  signingKeyFile: optional(
    'HOLDFAST_SIGNING_KEY_FILE',
    path,
    'File of the key that signs checkpoints of the log. Without one: made in the data directory on the embedded database, and none on PostgreSQL.',
  ),
  checkpoints: optional(
    'HOLDFAST_CHECKPOINTS',
    text,
    'File that checkpoints are added to, `-` for standard output, or `s3://bucket/prefix`. Without one: `checkpoints.jsonl` in the data directory.',
  ),
  serverUrl: optional(
    'HOLDFAST_URL',
    webAddress,
    'Server that the commands talk to. Without one: that of `HOLDFAST_HOST` and `HOLDFAST_PORT`.',
  ),
  clientToken: optional(
    'HOLDFAST_TOKEN',
    header,
    'Token of the commands. Without one: the made token of the data directory.',
  ),
};

const ALL: readonly Setting<unknown>[] = [...Object.values(TABLE), ...keySettings(path)];

/** Every setting. `npm run docs` writes them into docs/settings.md. */
export const SETTINGS = ALL.map(({ name, default: fallback, description, kind }) => ({
  ...{ name, isSecret: kind.secret === true },
  default: fallback,
  description,
}));

/** Settings that are also read by themselves: what else is set keeps no one from reading them. */
export const { cassettesDir, dataDir, ollamaApiKey, ollamaHost, recordTo } = TABLE;

/** A variable as it is now; null where it is not set or empty. */
export const environmentVariable = (name: string): string | null => valueIn(process.env, name) ?? null;

function readTokens(list: string | null, file: string | null): readonly Token[] {
  if (list !== null && file !== null) {
    const detail = 'HOLDFAST_TOKENS and HOLDFAST_TOKENS_FILE are both set; expected one of them.';
    throw invalidSettings({ pointer: '/HOLDFAST_TOKENS_FILE', detail });
  }
  if (list !== null) return parseTokens('HOLDFAST_TOKENS', list);
  if (file === null) return [];
  let content: string;
  try {
    content = readFileSync(file, 'utf8');
  } catch (cause) {
    const why = cause instanceof Error && 'code' in cause ? String(cause.code) : 'unreadable';
    const detail = `HOLDFAST_TOKENS_FILE is "${file}", which cannot be read (${why}); expected a file of tokens.`;
    throw invalidSettings({ pointer: '/HOLDFAST_TOKENS_FILE', detail });
  }
  return parseTokens('HOLDFAST_TOKENS_FILE', content);
}

export type Settings = ReturnType<typeof readSettings>;

/**
 * Reads every setting from the environment; this is the only place where it is read. An empty variable counts as unset.
 * Throws `config_invalid`, which names each bad variable, what came and what was expected; secrets are not repeated.
 */
export function readSettings(env: NodeJS.ProcessEnv = process.env) {
  const problems = [...ALL.flatMap((row) => problemOf(row, env) ?? []), ...doubleKeys(env)];
  if (problems.length > 0) throw invalidSettings(...problems);
  const read = <T>({ name, parse }: Setting<T>): T => parse(valueIn(env, name));
  const portIsSet = valueIn(env, TABLE.port.name) !== undefined;
  return {
    /** Null: embedded PGlite in `dataDir`. */
    databaseUrl: read(TABLE.databaseUrl) ?? read(TABLE.dbosDatabaseUrl),
    /** Absolute, as every path. */
    dataDir: read(TABLE.dataDir),
    configFile: read(TABLE.configFile),
    role: read(TABLE.role),
    host: read(TABLE.host),
    port: portIsSet ? read(TABLE.port) : (read(TABLE.commonPort) ?? read(TABLE.port)),
    /** Null: a process without the API listens on nothing. */
    metricsPort: read(TABLE.metricsPort),
    /** Empty: none are configured. */
    tokens: readTokens(read(TABLE.tokens), read(TABLE.tokensFile)),
    tokensFile: read(TABLE.tokensFile),
    console: read(TABLE.console) === 'on',
    publicUrl: read(TABLE.publicUrl),
    maxBodyBytes: read(TABLE.maxBodyBytes),
    maxTaskBytes: read(TABLE.maxTaskBytes),
    logLevel: read(TABLE.logLevel),
    logSteps: read(TABLE.logSteps) === 'on',
    /** Null: the engine chooses. */
    workerId: read(TABLE.workerId) ?? read(TABLE.vmId),
    concurrency: read(TABLE.concurrency),
    turnsPerSegment: read(TABLE.turnsPerSegment),
    crashLimit: read(TABLE.crashLimit),
    startWaitMs: read(TABLE.startWaitMs),
    stillAfterMs: read(TABLE.stillAfterMs),
    /** Null: approvals never expire. */
    approvalTimeoutMs: read(TABLE.approvalTimeoutMs) || null,
    shutdownGraceMs: read(TABLE.shutdownGraceMs),
    ollamaApiKey: read(TABLE.ollamaApiKey),
    ollamaHost: read(TABLE.ollamaHost),
    cassettesDir: read(TABLE.cassettesDir),
    /** Absolute; null: `exports` in `dataDir`. */
    exportDir: read(TABLE.exportDir),
    /** As an operator wrote them; null: none. */
    exportBuckets: read(TABLE.exportBuckets),
    exportHub: read(TABLE.exportHub),
    /** Null: `https://huggingface.co`. */
    hubUrl: read(TABLE.hubUrl),
    artifacts: read(TABLE.artifacts),
    /** Null: Amazon S3. */
    objectStoreUrl: read(TABLE.objectStoreUrl),
    objectStoreRegion: read(TABLE.objectStoreRegion),
    /** Null: that of this machine, where an agent has an environment. */
    dockerHost: read(TABLE.dockerHost),
    /** Null: the connection is not encrypted. */
    dockerCertPath: read(TABLE.dockerCertPath),
    dockerPatienceMs: read(TABLE.dockerPatienceMs),
    workerLabels: read(TABLE.workerLabels),
    workerContainers: read(TABLE.workerContainers),
    workerCpuCores: read(TABLE.workerCpuCores),
    workerMemoryMb: read(TABLE.workerMemoryMb),
    /** Absolute; null: nothing is recorded. */
    recordTo: read(TABLE.recordTo),
    /** Absolute; null: as the configuration file says. */
    signingKeyFile: read(TABLE.signingKeyFile),
    /** A path or `-`; null: as the configuration file says. */
    checkpoints: read(TABLE.checkpoints),
    /** Where the commands find a server, and what they show it. */
    serverUrl: read(TABLE.serverUrl),
    clientToken: read(TABLE.clientToken),
  };
}

/** The environment of a child process: that of this process with changes. A variable that is undefined is left out. */
export const childEnvironment = (changes: NodeJS.ProcessEnv): NodeJS.ProcessEnv => ({ ...process.env, ...changes });

/** What DBOS calls an engine. */
export interface DbosIdentity {
  readonly application: string;
  readonly version: string;
  readonly executor: string;
}

/**
 * In DBOS Cloud the SDK takes its identity from these variables, which change with each deploy, and not from its configuration;
 * elsewhere this does nothing. The queue, the takeover of segments and replays go by the identity that the engine has.
 */
export function pinDbosIdentity({ application, version, executor }: DbosIdentity, env = process.env): void {
  if (env['DBOS__CLOUD'] !== 'true') return;
  Object.assign(env, { DBOS_APP_NAME: application, DBOS__APPVERSION: version, DBOS__VMID: executor });
}
