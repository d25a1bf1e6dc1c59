import { DBOS } from '@dbos-inc/dbos-sdk';
import { assertLeased } from '../steps/calls/lost-execution.js';
import { abandonOnDatabaseOutage } from './give-up.js';
import { inStep, type SegmentContext } from './segment-context.js';

/**
 * Runs work as one step of the segment. What the work itself may fail with is part of its result: a step that throws means
 * that the database or DBOS failed, which is never the run's own and must not end it. A run with which workers died has the
 * process to itself until one more of its steps is recorded. A closed recording takes no steps: what it lets be executed is not kept.
 */
export async function durableStep<T>(scope: SegmentContext, name: string, work: () => Promise<T>): Promise<T> {
  const { recorded } = scope;
  if (recorded?.closed && !recorded.takes(name)) {
    scope.broken ??= { error: recorded.beyond(name) };
    throw scope.broken.error;
  }
  let leave: (() => void) | null = null;
  try {
    const step = async (): Promise<T> => {
      leave = await scope.gate.enter(scope.run.id, scope.suspected, scope.signal);
      return inStep(() =>
        abandonOnDatabaseOutage(async () => {
          // The process may have been suspended, and taken over, since its last statement.
          await assertLeased(scope.ctx, scope.run.id);
          return work();
        }),
      );
    };
    if (recorded?.closed) return await inStep(work);
    const result = await DBOS.runStep(step, { name });
    if (leave !== null) scope.suspected = false;
    return result;
  } catch (error) {
    scope.broken ??= { error };
    throw error;
  } finally {
    (leave as (() => void) | null)?.();
  }
}
