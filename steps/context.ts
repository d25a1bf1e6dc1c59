import type { Knex } from 'knex';
import type { Budgets } from '../src/core/budgets/budget.js';
import type { EnvironmentEngine } from '../src/core/containers/environment.js';
import type { Integrity } from '../src/core/integrity.js';
import type { EventData } from '../src/core/log/event.js';
import type { DocumentName } from '../src/core/memory/memory-view.js';
import type { Band } from '../src/core/queue/dispatch.js';
import type { Usage } from '../src/core/runs/run.js';
import type { RewardFunction } from '../src/core/tasks/reward.js';
import type { McpDefinition } from '../src/core/tools/mcp.js';
import type { MemoryDocument } from '../src/core/tools/tool-memory.js';
import type { Meter } from '../src/metrics/meter.js';
import type { PriceBook } from '../src/models/budgets/price-book.js';
import type { EmbeddingProvider } from '../src/models/providers/embedding-provider.js';
import type { ArtifactStore } from '../src/object-store/artifact-store.js';
import type { Hub } from '../src/object-store/hub.js';
import type { ObjectStore } from '../src/object-store/object-store.js';
import type { Execution } from '../src/storage/dbos/segment-rows.js';
import type { DocumentPlace, Forgetting, GoneDocument, MemoryPlace } from '../src/storage/memory/documents.js';
import type { SignIndex } from '../src/storage/memory/sign-index.js';
import type { RunRow } from '../src/storage/runs/run-row.js';
import type { McpConnections } from '../src/tools/mcp/mcp-connections.js';
import { withDatabaseRetry } from './database-retry.js';

/** A segment that is to work, of this run and for this reason. */
export interface QueuedSegment {
  readonly run: Pick<RunRow, 'id' | 'tenant' | 'agent' | 'priority' | 'task_id'>;
  readonly segment: number;
  readonly band: Band;
}

export interface SegmentName {
  readonly runId: string;
  readonly segment: number;
}

/** A segment that a transaction took for this process, in which a slot is kept for it. */
export interface TakenSegment {
  /** Begins it, once everything that it goes on from is written. */
  readonly begin: (trx: Knex.Transaction) => Promise<void>;
  /** Starts its execution, after the commit. */
  readonly start: () => void;
  /** Gives the slot back, after a rollback. */
  readonly release: () => void;
}

/** Puts segments into the queue inside someone's transaction, so that both or neither happen. */
export interface SegmentQueue {
  readonly enqueue: (trx: Knex.Transaction, segments: readonly QueuedSegment[]) => Promise<void>;
  /** Takes a segment for this process, which is then in no queue. Null: it is queued, as by `enqueue`. */
  readonly takeHere: (trx: Knex.Transaction, segment: QueuedSegment) => Promise<TakenSegment | null>;
  /** Takes segments back that runs do not need any more, unless a worker has taken them. */
  readonly withdraw: (trx: Knex.Transaction, segments: readonly SegmentName[]) => Promise<void>;
  /** Removes a segment without a trace. False: a worker has taken it. */
  readonly remove: (trx: Knex.Transaction, segment: SegmentName) => Promise<boolean>;
  /** Tells the dispatcher, after the commit, that there is something to do. */
  readonly wake: () => void;
}

/** The tool lists of MCP servers that runs were given. They never change. */
export interface McpLists {
  /** The digest of the list that a run was given of a server; null: of none. */
  readonly pinned: (runId: string, server: string) => Promise<string | null>;
  /** Null: there is no such list. */
  readonly definitions: (tenant: string, digest: string) => Promise<McpDefinition[] | null>;
}

/** An object store, and the places in it below which tenants may export. */
export interface ExportBuckets {
  /** Null: this process judges what is asked for, and exports nothing itself. */
  readonly store: ObjectStore | null;
  /** As an operator wrote them. */
  readonly roots: readonly string[];
}

/** A Hugging Face Hub, and the places there to which tenants may export. */
export interface ExportRepositories {
  /** Null: this process judges what is asked for, and exports nothing itself. */
  readonly hub: Hub | null;
  /** As an operator wrote them. */
  readonly roots: readonly string[];
}

/** A step that ended, without what was said or done in it. */
export interface ExecutedStep {
  readonly runId: string;
  readonly taskId: string | null;
  /** Number of the step in the trajectory. */
  readonly step: number;
  readonly action: {
    readonly type: 'model' | 'tool';
    readonly model?: string;
    readonly tool?: string;
    readonly outcome?: string;
  };
  /** Null: nothing said what it is worth. */
  readonly reward: number | null;
  readonly durationMs: number;
  readonly usage: Usage | null;
}

/** Documents of memory as they are compared with the logs of the runs that changed them. */
export interface MemoryEvidence {
  /**
   * Documents with these keys that are there, in the order of the keys. Throws `row_changed` where someone has changed one: then none of
   * them is used.
   */
  readonly proven: (db: Knex, place: MemoryPlace, keys: readonly string[]) => Promise<readonly MemoryDocument[]>;
  /** Enters documents that were removed into the log over all runs, as the last statement of the transaction that removes them. */
  readonly enterForgotten: (trx: Knex.Transaction, gone: readonly GoneDocument[], by: Forgetting) => Promise<void>;
  /** What of documents of a space is not what the logs say. */
  readonly falseIn: (
    db: Knex,
    space: Pick<MemoryPlace, 'tenant' | 'space'>,
    names: readonly DocumentName[],
  ) => Promise<(name: DocumentName) => Integrity>;
  /** The same of changes of a document. */
  readonly falseChanges: (db: Knex, place: DocumentPlace, versions: readonly number[]) => Promise<Integrity>;
}

/** Everything that steps reach of the world. Time, ids and randomness are inputs. */
export interface StepContext {
  readonly knex: Knex;
  readonly queue: SegmentQueue;
  readonly worker: { readonly id: string; readonly epoch: number };
  /**
   * Whether this process still owns its worker id: by its last heartbeat (`isHeld`), by the database (`confirm`), or by what a run
   * wrote at `provenAt` as its owner (`covers`).
   */
  readonly lease: {
    readonly isHeld: () => Promise<boolean>;
    readonly confirm: () => Promise<boolean>;
    readonly covers: (provenAt: number) => boolean;
  };
  /** The execution of a segment that asks; null: none does, or its library keeps no owner of a workflow. */
  readonly execution: () => Execution | null;
  readonly now: () => number;
  readonly newId: () => string;
  /** Milliseconds until an approval expires where a tool does not say; null: never. */
  readonly approvalTimeoutMs: number | null;
  /** What this process has done, for the caller that runs it. */
  readonly metrics: Meter;
  readonly prices: Pick<PriceBook, 'priceOf'>;
  readonly budgets: Budgets;
  /** Connections to servers of the Model Context Protocol. */
  readonly mcp: McpConnections;
  readonly mcpLists: McpLists;
  /** Absolute: the directory below which trajectories are exported. */
  readonly exportDir: string;
  /** Where trajectories are exported to in an object store; null: this process has none. */
  readonly buckets: ExportBuckets | null;
  /** Where trajectories are exported to on a Hub; null: this process has none. */
  readonly repositories: ExportRepositories | null;
  /** Where artifacts of tasks are; null: this process verifies nothing. */
  readonly artifacts: ArtifactStore | null;
  /** What the log says of the artifacts of runs that end where no worker has their container, by run. */
  readonly leftBehind: (
    trx: Knex.Transaction,
    runIds: readonly string[],
    why: string,
  ) => Promise<ReadonlyMap<string, Pick<EventData<'run.cancelled'>, 'artifacts'>>>;
  readonly memory: MemoryEvidence;
  /** Makes vectors of documents and queries. */
  readonly embeddings: EmbeddingProvider;
  /** Signs of the vectors of large spaces, in memory. */
  readonly signs: SignIndex;
  /** Where containers of runs are; null: no agent has an environment, and no engine is named. */
  readonly environments: EnvironmentEngine | null;
  /** What gives rewards in place of weighted signals, by name. */
  readonly rewards: ReadonlyMap<string, RewardFunction>;
  /** Reads every declared secret, so that it is known. Gives the places that cannot be read. */
  readonly readSecrets: () => Promise<readonly string[]>;
  /** How often a worker may die with one piece of an export. */
  readonly crashLimit: number;
  /** Writes a line about a step that this process executed; null: no one wants lines. */
  readonly logStep: ((step: ExecutedStep) => void) | null;
  /** Tells those who wait in this process that a run changed, or only its log. */
  readonly changed: (runId: string, what?: 'log') => void;
  /** Whether the outcome of a call can be kept together with its step. */
  readonly stepsKeepOutcomes: () => boolean;
}

export const isoNow = (ctx: StepContext): string => new Date(ctx.now()).toISOString();

/** Another process has this one's place, or the run is over: what is left of this execution asks no one and keeps nothing. */
export class LostExecutionError extends Error {
  constructor(runId: string) {
    super(`This execution of run ${runId} was given up: its worker was taken over, or the run is over.`);
    this.name = 'LostExecutionError';
  }
}

/**
 * Asks the database, unless the run proved at `provenAt`, a moment ago, that it is this process's. Throws `LostExecutionError` when
 * a newer process has the worker id.
 */
export async function assertStillOwner({ lease }: StepContext, runId: string, provenAt: number): Promise<void> {
  if (lease.covers(provenAt)) return;
  if (!(await withDatabaseRetry(() => lease.confirm()))) throw new LostExecutionError(runId);
}

/** Asks the database only where the last heartbeat is old. Throws `LostExecutionError` when a newer process has the worker id. */
export async function assertLeased({ lease }: StepContext, runId: string): Promise<void> {
  if (!(await withDatabaseRetry(() => lease.isHeld()))) throw new LostExecutionError(runId);
}
