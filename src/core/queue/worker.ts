import { z } from 'zod';

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
    aloneRunId: z.string().nullable().describe('The run that has the worker to itself, because workers died with it.'),
    startedAt: z.iso.datetime(),
    heartbeatAt: z.iso.datetime(),
    stoppedAt: z.iso.datetime().nullable(),
  })
  .meta({ id: 'Worker' });
export type WorkerView = z.infer<typeof workerView>;
