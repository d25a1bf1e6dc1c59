import { z } from 'zod';
import { integrity } from '../integrity.js';
import { jsonObject } from '../json.js';
import { usdText } from '../money.js';
import { workerRole } from '../queue/worker.js';
import { resultType } from '../trajectories/trajectory-result.js';

/**
 * What happens in the whole system, as one union: of tasks, steps, workers, the queue and money. It tells that something happened
 * and of what, never what was said or done: no payload, no text of a model, nothing that an erasure would have to find.
 */

/** What a durable step was: a call of a model, or of a tool with the way in which it ended. The id of a call is a text of a model. */
const action = z.discriminatedUnion('type', [
  z.object({ type: z.literal('model'), turn: z.int(), model: z.string() }),
  z.object({ type: z.literal('tool'), tool: z.string(), outcome: z.enum(['output', 'error', 'refused']) }),
]);
export type StepAction = z.infer<typeof action>;

/** What the heartbeats of a worker say of it. */
export const WORKER_HEALTH = ['working', 'stopping', 'silent', 'stopped'] as const;

/** At these shares of a budget, in percent, it is told. */
export const TOLD_PERCENTS = [80, 100] as const;

const DATA = {
  'task.submitted': z.object({ name: z.string(), version: z.string() }),
  'task.assigned': z.object({ attempt: z.int().min(1) }),
  'task.started': z.object({ attempt: z.int().min(1) }),
  'task.completed': z.object({ attempt: z.int().min(1), result: resultType, reward: z.number().nullable() }),
  'task.failed': z.object({ attempt: z.int().min(1), code: z.string(), retried: z.boolean() }),
  'task.requeued': z.object({ attempts: z.int().min(1), requeues: z.int().min(1) }),
  'run.started': z.object({ agent: z.string() }),
  'run.paused': z.object({ waits: z.int().min(0) }),
  'run.continued': z.object({ segment: z.int().min(1) }),
  'run.ended': z.object({ status: z.enum(['completed', 'failed', 'cancelled']), code: z.string().nullable() }),
  'interruption.requested': z.object({
    ...{ id: z.string(), kind: z.string(), tool: z.string().nullable(), expiresInMs: z.int().nullable() },
  }),
  'interruption.voted': z.object({ id: z.string(), actor: z.string() }),
  'interruption.decided': z.object({ id: z.string(), verdict: z.string(), actor: z.string() }),
  'run.stalled': z.object({ seconds: z.int().min(0), ended: z.boolean() }),
  'step.executed': z.object({
    ...{ seq: z.int().min(1), action },
    // Absent in events of older builds.
    ...{ step: z.int().min(1).exactOptional(), reward: z.number().nullable().exactOptional() },
    durationMs: z.int().min(0).nullable().exactOptional(),
  }),
  'trajectory.stored': z.object({ result: resultType, reward: z.number().nullable(), steps: z.int() }),
  'agent.version_changed': z.object({
    ...{ agent: z.string(), version: z.string(), status: z.enum(['live', 'rolled_back']) },
    ...{ share: z.int().min(0).max(100), actor: z.string().nullable() },
  }),
  'alert.changed': z.object({
    ...{ name: z.string(), state: z.enum(['ok', 'firing']), measure: z.string(), value: z.number().nullable() },
  }),
  'worker.registered': z.object({ role: workerRole, capacity: z.int(), epoch: z.int(), build: z.string() }),
  'worker.health': z.object({ status: z.enum(WORKER_HEALTH) }),
  'worker.shutdown': z.object({ why: z.enum(['left', 'dead']) }),
  'queue.depth_changed': z.object({ depth: z.int(), before: z.int() }),
  'work.set_aside': z.object({ name: z.string(), deaths: z.int().min(1) }),
  'cost.threshold_reached': z.object({
    budget: z.string(),
    scope: z.enum(['run', 'agent', 'tenant', 'all']),
    name: z.string(),
    day: z.string().nullable(),
    percent: z.int(),
    currentUsd: usdText,
    thresholdUsd: usdText,
    limitUsd: usdText,
  }),
} as const;

export type SystemEventKind = keyof typeof DATA;
export const SYSTEM_EVENT_KINDS = Object.keys(DATA) as readonly SystemEventKind[];
export type SystemEventData<K extends SystemEventKind> = z.infer<(typeof DATA)[K]>;
export const SYSTEM_EVENT_DATA: { readonly [K in SystemEventKind]: z.ZodType<SystemEventData<K>> } = DATA;

/** An event on its way into the database, in the transaction that makes it true. Its time is that of the database. */
export type SystemEventDraft = {
  readonly [K in SystemEventKind]: {
    readonly kind: K;
    /** Who may read it; null: everybody, since it is of no tenant. */
    readonly tenant: string | null;
    readonly data: SystemEventData<K>;
    readonly taskId?: string | null;
    readonly runId?: string | null;
    readonly workerId?: string | null;
    /** Natural, where the same may be told twice: the second time nothing is written. */
    readonly key?: string;
  };
}[SystemEventKind];

export const systemEvent = z
  .object({
    seq: z
      .int()
      .min(1)
      .describe('Position in the order of all system events. It only rises; events of other tenants are left out.'),
    kind: z.string().describe('One of the kinds below.'),
    at: z.iso.datetime().describe('When it was written, by the clock of the database. The order is `seq`.'),
    tenant: z
      .string()
      .nullable()
      .describe('Tenant of the event; null = the installation, whose events only tokens with a role in it read.'),
    taskId: z.string().nullable().describe('Task that the event is about; null = none.'),
    runId: z.string().nullable().describe('Run that the event is about; null = none.'),
    workerId: z.string().nullable().describe('Worker that the event is about; null = none.'),
    data: jsonObject.describe('Payload of the kind.'),
    integrity: integrity
      .exactOptional()
      .describe('Columns of its row that cannot be read, because someone changed them. Absent: there is none.'),
  })
  .meta({ id: 'SystemEvent' });
export type SystemEvent = z.infer<typeof systemEvent>;

/** Events after `after` up to `upTo` are gone by retention: what follows has a gap before it. */
export interface SystemGap {
  readonly type: 'trimmed';
  readonly after: number;
  readonly upTo: number;
}

export interface SystemEventFilter {
  readonly kind?: SystemEventKind;
  readonly taskId?: string;
  readonly runId?: string;
}

/** Where one begins to read: after a place, or after everything that there is. */
export type SystemEventPlace = number | 'now';
