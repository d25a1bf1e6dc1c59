import { ALERT_OPERATIONS, WEBHOOK_OPERATIONS } from './alerts.js';
import { ERASURE_OPERATIONS } from './erasures.js';
import { EMITTED_EVENT_OPERATIONS, EVENT_OPERATIONS, SYSTEM_EVENT_OPERATIONS } from './events.js';
import { EVIDENCE_OPERATIONS } from './evidence.js';
import { EVOLUTION_OPERATIONS } from './evolution.js';
import { EXPORT_OPERATIONS } from './exports.js';
import { INTERRUPTION_OPERATIONS, STANDING_DECISION_OPERATIONS } from './interruptions.js';
import { LOG_OPERATIONS } from './log.js';
import { MEMORY_OPERATIONS } from './memory.js';
import type { Operation } from './operation.js';
import { CHARGE_OPERATIONS, OVERVIEW_OPERATIONS } from './overview.js';
import { PLAN_OPERATIONS } from './plans.js';
import { REGISTRY_OPERATIONS } from './registry.js';
import { RUN_OPERATIONS } from './runs.js';
import { SESSION_OPERATIONS } from './sessions.js';
import { SYSTEM_OPERATIONS } from './system.js';
import { ARTIFACT_OPERATIONS, TASK_OPERATIONS } from './tasks.js';
import { TRAJECTORY_OPERATIONS } from './trajectories.js';
import { SET_ASIDE_OPERATIONS, WORKER_OPERATIONS } from './workers.js';

/** Every operation that clients can ask for, in the order of the reference. Of two paths that fit a request, the first one gets it. */
export const OPERATIONS = {
  ...RUN_OPERATIONS,
  ...TASK_OPERATIONS,
  ...ARTIFACT_OPERATIONS,
  ...REGISTRY_OPERATIONS,
  ...EVIDENCE_OPERATIONS,
  ...ERASURE_OPERATIONS,
  ...LOG_OPERATIONS,
  ...EVENT_OPERATIONS,
  ...CHARGE_OPERATIONS,
  // Before those that read a trajectory by its id.
  ...EXPORT_OPERATIONS,
  ...TRAJECTORY_OPERATIONS,
  ...INTERRUPTION_OPERATIONS,
  ...STANDING_DECISION_OPERATIONS,
  ...SESSION_OPERATIONS,
  ...MEMORY_OPERATIONS,
  ...EMITTED_EVENT_OPERATIONS,
  ...SYSTEM_EVENT_OPERATIONS,
  ...PLAN_OPERATIONS,
  ...EVOLUTION_OPERATIONS,
  ...WORKER_OPERATIONS,
  ...SET_ASIDE_OPERATIONS,
  ...OVERVIEW_OPERATIONS,
  ...ALERT_OPERATIONS,
  ...WEBHOOK_OPERATIONS,
  ...SYSTEM_OPERATIONS,
} as const satisfies { readonly [name: string]: Operation };

export type Operations = typeof OPERATIONS;
export type OperationName = keyof Operations;

/** The method of the engine that does an operation. */
export type MethodOf<Name extends OperationName> = Operations[Name]['calls'] extends string
  ? Operations[Name]['calls']
  : Name;
