import { AsyncLocalStorage } from 'node:async_hooks';
import type { ModelProvider } from '@openai/agents';
import type { StepContext } from '../../steps/context.js';
import type { AlertRule } from '../core/agents/alert-rules.js';
import type { Webhook } from '../core/agents/webhook.js';
import type { Ceilings } from '../core/containers/ceilings.js';
import type { ImageCollection } from '../core/containers/image-policy.js';
import { HoldfastError } from '../core/errors/errors.js';
import { Allowance } from '../core/limits/allowance.js';
import type { EngineLog } from '../core/ops/log-record.js';
import type { Summary } from '../core/ops/stats.js';
import type { Stalls, WorkerRole } from '../core/queue/worker.js';
import type { Retention } from '../core/retention/retention.js';
import type { RewardFunction } from '../core/tasks/reward.js';
import type { TaskRetries } from '../core/tasks/task-retries.js';
import type { MemorySpace } from '../core/tools/memory-space.js';
import type { Metrics } from '../metrics/metrics.js';
import type { Database } from '../storage/database/database.js';
import type { RegisteredAgent } from './agents/agent-registry.js';
import type { EngineWatch } from './containers/engine-watch.js';
import type { Anchor } from './evidence/anchor.js';
import type { AgentVersions } from './evolution/agent-versions.js';
import type { ExportQueue } from './exports/export-queue.js';
import type { Changes } from './log/changes.js';
import type { LongWork } from './long-work.js';
import type { Measuring } from './ops/measuring.js';
import type { SharedQueries } from './ops/shared-queries.js';
import type { Totals } from './ops/summaries.js';
import type { WriteWatch } from './ops/write-watch.js';
import type { CancelRun } from './runs/cancel-run.js';
import type { DeltaHub } from './streaming/delta-hub.js';
import type { RunNews } from './streaming/run-news.js';
import type { SystemFeed } from './streaming/system-events.js';
import type { HostFolders } from './tasks/host-folders.js';
import type { TaskOrder } from './tasks/task-order.js';
import type { LoopWatch } from './workers/loop-watch.js';
import type { RunningSegments } from './workers/running-segments.js';

/** What the verbs work with. */
export interface EngineContext {
  readonly stepContext: StepContext;
  readonly database: Database;
  readonly agents: ReadonlyMap<string, RegisteredAgent>;
  /** Those of the configuration, which agents name. */
  readonly memorySpaces: readonly MemorySpace[];
  readonly versions: AgentVersions;
  readonly models: ModelProvider;
  readonly changes: Changes;
  readonly news: RunNews;
  readonly deltas: DeltaHub;
  readonly running: RunningSegments;
  readonly anchor: Anchor;
  readonly exports: ExportQueue;
  readonly system: SystemFeed;
  readonly metrics: Metrics;
  readonly loop: LoopWatch;
  readonly writes: WriteWatch;
  readonly measuring: Measuring;
  readonly summaries: SharedQueries<Summary | null>;
  readonly totals: SharedQueries<Totals>;
  readonly role: WorkerRole;
  /** How often a segment may take a worker with it, without a step in between, before its run ends. */
  readonly crashLimit: number;
  /** After so many milliseconds without a heartbeat the session of another worker is ended. */
  readonly stillAfterMs: number;
  readonly build: string;
  readonly retention: Retention;
  readonly order: TaskOrder;
  /** On which terms tasks that are submitted are tried again. */
  readonly retries: TaskRetries;
  readonly stalls: Stalls;
  readonly alerts: readonly AlertRule[];
  readonly webhooks: readonly Webhook[];
  readonly hostFolders: HostFolders;
  /** When images of runs go from the engine of this process; null: none does. */
  readonly imageCollection: ImageCollection | null;
  readonly ceilings: Ceilings;
  /** Images that this process pulls before a run needs them. */
  readonly imagesAhead: readonly string[];
  readonly cancel: CancelRun;
  readonly long: LongWork;
  /** Whether runs that need a container wait for a worker with an engine, as this one saw last. */
  readonly containers: EngineWatch;
  readonly defersContainers: () => boolean;
  readonly isStopping: () => boolean;
  readonly log: EngineLog;
}

/** `pointer`: where a request names it. Throws `reward_unknown`. */
export function rewardNamed(
  { stepContext }: Pick<EngineContext, 'stepContext'>,
  name: string,
  pointer: string,
): RewardFunction {
  const found = stepContext.rewards.get(name);
  if (found !== undefined) return found;
  const known = [...stepContext.rewards.keys()].join(', ') || 'none';
  const detail = `There is no reward function ${JSON.stringify(name)}. Known: ${known}.`;
  throw new HoldfastError('reward_unknown', detail, { fields: [{ pointer, detail }] });
}

/** `pointer`: where a request names it. Throws `agent_unknown`. */
export function agentNamed(context: Pick<EngineContext, 'agents'>, name: string, pointer?: string): RegisteredAgent {
  const agent = context.agents.get(name);
  if (agent !== undefined) return agent;
  const known = [...context.agents.keys()].join(', ') || 'none';
  const detail = `There is no agent ${JSON.stringify(name)}. Known: ${known}.`;
  throw new HoldfastError('agent_unknown', detail, { fields: pointer === undefined ? [] : [{ pointer, detail }] });
}

const requests = new AsyncLocalStorage<Allowance | null>();

/** Everything that one request does shares one allowance: that of the request which it is a part of already, or a new one. */
export const inOneRequest = <T>(work: () => T): T =>
  requests.getStore() ? work() : requests.run(new Allowance(), work);

/** What a run does is no part of the request that woke it. */
export const outsideRequests = <T>(work: () => T): T => requests.run(null, work);

/** What the request that is at work may still take. To be handed on: what is made in a step or a workflow has an allowance of its own. */
export const allowanceOfRequest = (): Allowance => requests.getStore() ?? new Allowance();

/** What was begun on the way to an engine that works, with the end of each: when a later part fails, nothing is left at work. */
export class CleanupStack {
  readonly #ends: (() => unknown)[] = [];

  /** Remembers how what was begun just now ends. */
  endsWith(end: () => unknown): void {
    this.#ends.push(end);
  }

  /** Ends all of it, the last first. One that cannot be ended keeps none of the others. */
  async end(): Promise<void> {
    for (const end of this.#ends.splice(0).reverse()) {
      try {
        await end();
      } catch {
        // The error that kept the engine from starting is thrown.
      }
    }
  }
}
