import { z } from 'zod';
import { workerOffer } from '../containers/worker-offer.js';

/** What a process does: `all` serves and executes, `api` serves alone, `worker` executes alone. */
export const WORKER_ROLES = ['all', 'api', 'worker'] as const;
export const workerRole = z.enum(WORKER_ROLES);
export type WorkerRole = z.infer<typeof workerRole>;

/** A worker whose lock is free is dead when its heartbeat is older than this, in milliseconds. */
export const HEARTBEAT_OLD_MS = 3000;

/** `stop`: work in flight has the time of a stop to end; `drain`: it has as long as it takes. */
export const STOP_MODES = ['stop', 'drain'] as const;
export type StopMode = (typeof STOP_MODES)[number];

export const workerStop = z
  .strictObject({
    mode: z
      .enum(STOP_MODES)
      .default('stop')
      .describe('`stop` gives work in flight the time of a stop; `drain` lets it end, however long that takes.'),
  })
  .meta({ id: 'StopWorker' });
export type WorkerStop = z.infer<typeof workerStop>;

export const workerView = z
  .object({
    id: z.string(),
    role: workerRole,
    status: z
      .enum(['working', 'stopping', 'silent', 'stopped'])
      .describe('`silent`: its heartbeat is old. Others take its segments over as soon as its lock is free.'),
    build: z.string(),
    pid: z.int(),
    epoch: z
      .int()
      .describe('Raised whenever a process takes the place of another one; an older epoch has no effect any more.'),
    capacity: z.int().describe('Segments that it executes at once.'),
    running: z.int().describe('Segments that it executed at its last heartbeat.'),
    containers: z
      .boolean()
      .describe(
        'Whether it has a container engine that answers. Another one leaves runs that need a container to those that have it.',
      ),
    engine: z
      .string()
      .nullable()
      .describe(
        'The id of its container engine; null: it has none, or has not reached it yet. Runs with a container stay on its engine.',
      ),
    offer: workerOffer
      .nullable()
      .describe(
        'What it has for containers: labels, runs at once, processors, megabytes of memory and architecture; null: its build does not say.',
      ),
    aloneRunId: z.string().nullable().describe('The run that has the worker to itself, because workers died with it.'),
    startedAt: z.iso.datetime(),
    heartbeatAt: z.iso.datetime(),
    stoppedAt: z.iso.datetime().nullable(),
  })
  .meta({ id: 'Worker' });
export type WorkerView = z.infer<typeof workerView>;

/** How often workers have died with a segment since its last step, and how often of these it had the worker to itself. */
export interface Crashes {
  readonly crashes: number;
  readonly alone: number;
}

/** After so many deaths a segment is a suspect: it has a worker to itself. */
export const SUSPECT_AFTER = 2;
/** For each death alone a suspect waits for so long before it begins again: what ends workers without it is seen then. */
const WAIT_MS = 5000;
/** A segment that is never alone when its worker dies has so many times the limit. */
const OTHERWISE = 5;

/** How often it has to be alone, and how often it dies at most, before its run ends. */
export const boundsOf = (limit: number): { readonly limit: number; readonly alone: number; readonly most: number } => ({
  limit,
  alone: Math.max(1, limit - SUSPECT_AFTER),
  most: limit * OTHERWISE,
});

/** Whether its run ends: it died alone often enough, or however it died too often. */
export function isGivenUp({ crashes, alone }: Crashes, crashLimit: number): boolean {
  const { limit, ...bounds } = boundsOf(crashLimit);
  return (crashes >= limit && alone >= bounds.alone) || crashes >= bounds.most;
}

/** Milliseconds before a suspect begins. */
export const suspectWaitsMs = ({ alone }: Crashes): number => alone * WAIT_MS;

const DAY_MS = 86_400_000;

/** What is done about runs that are at work and silent. */
export const stallsConfig = z.strictObject({
  /** Milliseconds without a step that begins or ends. Default 15 minutes. */
  afterMs: z
    .int()
    .min(1000)
    .max(7 * DAY_MS)
    .default(900_000),
  /** Whether such a run is ended as `run_stalled`. Default false: it is told. */
  end: z.boolean().default(false),
});
export type StallsConfig = z.input<typeof stallsConfig>;
export type Stalls = z.infer<typeof stallsConfig>;
