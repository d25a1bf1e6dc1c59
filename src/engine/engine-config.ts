import { join, resolve } from 'node:path';
import { ceilings } from '../core/containers/ceilings.js';
import type { WorkerLabels, WorkerOffer } from '../core/containers/worker-offer.js';
import type { HoldfastError } from '../core/errors/errors.js';
import type { OBJECT_STORE_KEYS } from '../core/exports/bucket-place.js';
import type { EngineLog } from '../core/ops/log-record.js';
import type { WorkerRole } from '../core/queue/worker.js';
import type { Secret } from '../models/secrets/secret.js';
import type { HoldfastConfig } from './agents/define.js';

export interface EngineConfig extends HoldfastConfig {
  /** PostgreSQL; null: the embedded PGlite in `dataDir`. */
  readonly databaseUrl?: string | null;
  /** Default `.holdfast` in the working directory. */
  readonly dataDir?: string;
  /** What this process does; `api` executes no segments. Default `all`. */
  readonly role?: WorkerRole;
  /** Default: the name of the host, with a number behind it where several processes work there; on PGlite `local`. */
  readonly workerId?: string | null;
  /** Segments that work at once in this process. Default 32. */
  readonly concurrency?: number;
  /** Default 50. */
  readonly turnsPerSegment?: number;
  /** How often a segment may take a worker with it, without a step in between, before its run fails. Default 5. */
  readonly crashLimit?: number;
  /** Milliseconds without a heartbeat after which the session of a worker that hangs is ended. Default 15,000. */
  readonly stillAfterMs?: number;
  /** Milliseconds that a start waits for a PostgreSQL that is away or starts. Default ten minutes. */
  readonly startWaitMs?: number;
  /** Milliseconds; null: approvals never expire. Default seven days. */
  readonly approvalTimeoutMs?: number | null;
  /** What is left out here of OpenAI says the environment. */
  readonly openaiApiKey?: string | Secret | null;
  readonly openaiBaseUrl?: string | null;
  readonly ollamaApiKey?: string | null;
  readonly ollamaHost?: string | null;
  /** Where the cassettes of `replay/<name>` are. Default: `cassettes` in the working directory. */
  readonly cassettesDir?: string;
  /** The directory below which trajectories are exported. Default: `exports` in `dataDir`. */
  readonly exportDir?: string | null;
  /**
   * Places in an object store below which trajectories may be exported: `s3://bucket/prefix` for the tenant `default`, and
   * with `{tenant}` in it for every tenant. Default: none.
   */
  readonly exportBuckets?: readonly string[] | null;
  /**
   * Places on a Hugging Face Hub to which trajectories may be exported: `hf://datasets/owner`, a repository or a folder of one for the
   * tenant `default`, and with `{tenant}` in it for every tenant. Default: none.
   */
  readonly exportHub?: readonly string[] | null;
  /** The Hub of exports. What is left out here says the environment. */
  readonly hub?: HubConfig;
  /** Where artifacts of tasks are kept: a directory, or `s3://bucket/prefix`. Default: `artifacts` in `dataDir`. */
  readonly artifacts?: string | null;
  /** The object store of exports, artifacts and checkpoints. What is left out of its key says the environment. */
  readonly objectStore?: ObjectStoreConfig;
  /** Engine of the containers of runs, as DOCKER_HOST has it. Default: that of this machine, if an agent has an environment. */
  readonly dockerHost?: string | null;
  /** Folder with `ca.pem`, `cert.pem` and `key.pem`: encrypts the connection to an engine at `tcp://…`. As DOCKER_CERT_PATH. */
  readonly dockerCertPath?: string | null;
  /** For so long an engine that does not answer is waited for. Default 120,000. */
  readonly dockerPatienceMs?: number;
  /** Labels of this worker, for runs that require them. Default: none. */
  readonly workerLabels?: WorkerLabels | null;
  /** Runs with a container that work at once in this process. Default: as many as `concurrency`. */
  readonly workerContainers?: number | null;
  /** Processors and memory for the runs of this process that require some. Default: those of the container engine. */
  readonly workerCpuCores?: number | null;
  readonly workerMemoryMb?: number | null;
  /** A directory, to which the traffic of all known providers is recorded (docs/models/cassettes.md). Default: none. */
  readonly recordTo?: string | null;
  /** File of the key that signs checkpoints of the log; goes before that of `evidence`. */
  readonly signingKeyFile?: string | null;
  /** Where checkpoints are written, as in `evidence`; goes before that. */
  readonly checkpoints?: string | null;
  readonly log?: EngineLog;
  /** Whether `log` gets a line for each step that this process executes. Default false. */
  readonly logSteps?: boolean;
  /** Called once when this process must not work on: it lost its lock for good, or a newer process took over. The engine stops. */
  readonly onFatal?: (error: HoldfastError) => void;
  /** Called once when an operator asked this worker to stop, and what was to be drained has ended. Default: the engine stops. */
  readonly onStopAsked?: () => void;
}

export const SILENT: EngineLog = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

export const DEFAULT_DATA_DIR = '.holdfast';
const DEFAULT_CONCURRENCY = 32;
const DEFAULT_CRASH_LIMIT = 5;
const DEFAULT_STILL_AFTER_MS = 15_000;
const DEFAULT_START_WAIT_MS = 600_000;
const DEFAULT_DOCKER_PATIENCE_MS = 120_000;
const SEVEN_DAYS_MS = 7 * 24 * 3600 * 1000;

const offerOf = (config: EngineConfig, capacity: number): WorkerOffer => ({
  labels: config.workerLabels ?? {},
  containers: config.workerContainers ?? capacity,
  ...{ cpuCores: config.workerCpuCores ?? null, memoryMb: config.workerMemoryMb ?? null, architecture: null },
});

const capacityOf = (config: EngineConfig): number =>
  config.role === 'api' ? 0 : (config.concurrency ?? DEFAULT_CONCURRENCY);

/** What a configuration leaves out. */
export const withDefaults = (config: EngineConfig) => ({
  role: config.role ?? 'all',
  capacity: capacityOf(config),
  offer: offerOf(config, capacityOf(config)),
  crashLimit: config.crashLimit ?? DEFAULT_CRASH_LIMIT,
  stillAfterMs: config.stillAfterMs ?? DEFAULT_STILL_AFTER_MS,
  startWaitMs: config.startWaitMs ?? DEFAULT_START_WAIT_MS,
  approvalTimeoutMs: config.approvalTimeoutMs === undefined ? SEVEN_DAYS_MS : config.approvalTimeoutMs,
  dockerPatienceMs: config.dockerPatienceMs ?? DEFAULT_DOCKER_PATIENCE_MS,
  exportDir: resolve(config.exportDir ?? join(config.dataDir ?? DEFAULT_DATA_DIR, 'exports')),
  ceilings: ceilings.parse(config.ceilings ?? {}),
  log: config.log ?? SILENT,
});

export type ObjectStoreKey = keyof typeof OBJECT_STORE_KEYS;

/** A store that speaks S3. */
export interface ObjectStoreConfig extends Partial<Readonly<Record<ObjectStoreKey, string | Secret>>> {
  /** Null or left out: Amazon S3. */
  readonly endpoint?: string | null;
  /** Default `us-east-1`. */
  readonly region?: string;
}

/** A Hugging Face Hub. */
export interface HubConfig {
  /** Null or left out: `https://huggingface.co`. */
  readonly endpoint?: string | null;
  readonly token?: string | Secret;
}
