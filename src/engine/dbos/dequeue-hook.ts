import { DBOSExecutor } from '@dbos-inc/dbos-sdk/internal/dbos-executor';
import { z } from 'zod';

/**
 * Uses a private part of the DBOS SDK 5.3: what its dispatcher takes out of a queue is chosen here, and here is heard
 * when a workflow of the queue has ended and its end is written. Where the part is missing, DBOS chooses by priority and age.
 */

export interface DequeueHooks {
  /** Ids of the workflows that were marked as taken by `owner`, where `running` of the queue are at work in this process. */
  readonly take: (wanted: { readonly running: number; readonly owner: string }) => Promise<readonly string[]>;
  readonly ended: () => void;
}

/** As many parameters as are known here, before the first that may be left out. */
const takes = (parameters: number) => z.instanceof(Function).refine((method) => method.length === parameters);

const shape = z.object({
  systemDatabase: z.object({ findAndMarkStartableWorkflows: takes(4), trackRunningWorkflow: takes(3) }),
});

const asked = z.tuple([
  z.object({ name: z.string() }),
  z.string(),
  z.string(),
  z.undefined(),
  z.number(),
  z.number(),
  z.string(),
]);

const tracked = z.tuple([z.string(), z.object({ queueName: z.string(), promise: z.instanceof(Promise) }), z.unknown()]);

type Method = (...args: readonly unknown[]) => unknown;

/** False: DBOS has changed inside. To be called after every launch. */
export function hookDequeue(queueName: string, hooks: DequeueHooks): boolean {
  const parsed = shape.safeParse(DBOSExecutor.globalInstance);
  if (!parsed.success) return false;
  const { systemDatabase } = DBOSExecutor.globalInstance as unknown as {
    systemDatabase: { findAndMarkStartableWorkflows: Method; trackRunningWorkflow: Method };
  };
  const { findAndMarkStartableWorkflows: find, trackRunningWorkflow: track } = systemDatabase;
  systemDatabase.findAndMarkStartableWorkflows = (...args) => {
    const [queue, , , , running, , owner] = asked.safeParse(args).data ?? [];
    if (queue?.name !== queueName || running === undefined || owner === undefined)
      return Reflect.apply(find, systemDatabase, args);
    return hooks.take({ running, owner });
  };
  systemDatabase.trackRunningWorkflow = (...args) => {
    const result: unknown = Reflect.apply(track, systemDatabase, args);
    const entry = tracked.safeParse(args).data?.[1];
    if (entry?.queueName === queueName) void entry.promise.then(hooks.ended, hooks.ended);
    return result;
  };
  return true;
}
