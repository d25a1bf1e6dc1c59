import { DBOS } from '@dbos-inc/dbos-sdk';
import { inStep, type SegmentScope } from './segment-scope.js';

/**
 * Runs work as one step of the segment. What the work itself may fail with is part of its result: a step that throws means
 * that the database or DBOS failed, which is never the run's own and must not end it.
 */
export async function durableStep<T>(scope: SegmentScope, name: string, work: () => Promise<T>): Promise<T> {
  try {
    return await DBOS.runStep(() => inStep(work), { name });
  } catch (error) {
    scope.broken ??= { error };
    throw error;
  }
}
