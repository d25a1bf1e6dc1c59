import { DBOSExecutor } from '@dbos-inc/dbos-sdk/internal/dbos-executor';
import { z } from 'zod';

/**
 * Uses a private part of the DBOS SDK 5.3: what its dispatcher takes out of a queue is chosen here, and here is heard when a workflow of
 * the queue begins, and when it has ended and its end is written. Where the part is missing, DBOS chooses by priority and age.
 */

export interface DequeueHooks {
  /** Ids of the workflows that were marked as taken by `owner`, where `running` of the queue are at work in this process. */
  readonly take: (wanted: { readonly running: number; readonly owner: string }) => Promise<readonly string[]>;
  readonly began: (workflowId: string) => void;
  readonly ended: () => void;
}

/** Workflows of the queue in this process. */
export interface QueueExecutor {
  readonly running: () => number;
  /** Executes a workflow that was marked as taken by `owner`. Resolves when it has begun; what keeps it from that is in the log of DBOS. */
  readonly start: (workflowId: string, owner: string) => Promise<void>;
}

/** As many parameters as are known here, before the first that may be left out. */
const takes = (parameters: number) => z.instanceof(Function).refine((method) => method.length === parameters);

const shape = z.object({
  systemDatabase: z.object({ findAndMarkStartableWorkflows: takes(4), trackRunningWorkflow: takes(3) }),
});

const executorShape = z.object({
  dispatchDequeuedWorkflows: takes(2),
  systemDatabase: z.object({ countRunningWorkflowsForQueue: takes(1) }),
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
    const [id, entry] = tracked.safeParse(args).data ?? [];
    if (id === undefined || entry?.queueName !== queueName) return result;
    hooks.began(id);
    void entry.promise.then(hooks.ended, hooks.ended);
    return result;
  };
  return true;
}

/** What executes workflows that no dispatcher has taken. Null: DBOS has changed inside. */
export function executorOf(queueName: string): QueueExecutor | null {
  if (!executorShape.safeParse(DBOSExecutor.globalInstance).success) return null;
  const dbos = DBOSExecutor.globalInstance as unknown as {
    dispatchDequeuedWorkflows(ids: readonly string[], owner: string): Promise<void>;
    systemDatabase: { countRunningWorkflowsForQueue(name: string): number };
  };
  return {
    running: () => dbos.systemDatabase.countRunningWorkflowsForQueue(queueName),
    start: (workflowId, owner) => dbos.dispatchDequeuedWorkflows([workflowId], owner),
  };
}
