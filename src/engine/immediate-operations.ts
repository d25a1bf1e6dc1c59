import type { Session } from '@openai/agents';
import type { Caller } from '../core/caller.js';
import type { SystemEvent, SystemGap } from '../core/log/system-event.js';
import type { Health } from '../core/ops/health.js';
import type { ShownTrajectory, UnreadTrajectory } from '../core/trajectories/trajectory.js';
import type { TrajectoryFilter } from '../core/trajectories/trajectory-result.js';
import type { AnsweredRequest } from '../metrics/metrics.js';
import type { EngineContext } from './engine-context.js';
import { withNamedErrors } from './named-errors.js';
import { health, isReady } from './ops/health.js';
import { databaseSession } from './runs/database-session.js';
import { streamEvents, streamRun } from './runs/read-runs.js';
import { type RunStateBackend, savedStateBackend } from './standalone/run-state-store.js';
import type { FromPlace } from './streaming/system-events.js';
import { streamSystemEvents } from './streaming/system-events.js';
import { submitTasks } from './tasks/submit-batch.js';
import { streamTrajectories } from './trajectories/trajectory-operations.js';

/** What gives something at once, such as a stream to be read. Once the engine stops, each of these throws `engine_not_running`. */
export const IMMEDIATE = {
  /** Events after `after`, then those that come, until the run is over and all were given, or the signal fires. */
  streamEvents,
  /**
   * The same, and between the events what models say while they answer, if the run streams: see docs/models/streaming.md. A caller who
   * reads slowly loses deltas, never events. What has a `seq` is an event.
   */
  streamRun,
  /**
   * Records with their steps, newest first, one in memory at a time. Of one whose steps take more than 32 MiB `nextStep` is not
   * null: `getTrajectory` has the rest. One that cannot be read is named with `unread`. Throws `invalid_request`.
   */
  streamTrajectories: (
    context: EngineContext,
    filter: TrajectoryFilter,
    caller: Caller,
  ): AsyncIterable<ShownTrajectory | UnreadTrajectory> => streamTrajectories(context, filter, caller),
  /**
   * Submits many tasks, some in each transaction, and gives an answer for each line in its order, then one with the counts. Under the
   * same key the same lines are the same tasks.
   */
  submitTasks,
  /** The same, then what comes, until the signal fires. What has a `seq` is an event. */
  streamSystemEvents: (
    context: EngineContext,
    options: FromPlace & { readonly signal: AbortSignal },
    caller: Caller,
  ): AsyncIterable<SystemEvent | SystemGap> => streamSystemEvents(context, options, caller),
  /** A session for a program that runs agents itself with the Agents SDK. Its writes throw `session_busy`, `session_full`. */
  openSession: (context: EngineContext, id: string, caller: Caller): Session =>
    withNamedErrors(databaseSession(context.stepContext.knex, caller.tenant, id)),
  /** Where a `RunStateStore` keeps the state of a run that is not run by the engine. */
  runStateBackend: (context: EngineContext, name: string, caller: Caller): RunStateBackend =>
    withNamedErrors(savedStateBackend(context.stepContext.knex, caller.tenant, name)),
};

/** What the engine says of itself, also while it stops. */
export const ANYTIME = {
  /** Counts an answer to a request. */
  countRequest: (context: EngineContext, request: AnsweredRequest): void => context.metrics.requested(request),
  /** Of each part, within seconds. `caller`: whose runs are looked at, where not those of all tenants. */
  health: (context: EngineContext, caller?: Caller): Promise<Health> => health(context, context.isStopping(), caller),
  /** Whether requests should be sent here. */
  isReady: (context: EngineContext): Promise<boolean> => isReady(context, context.isStopping()),
};
