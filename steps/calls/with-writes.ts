import type { CallOutcome } from '../../src/core/log/call-outcome.js';
import { writesMade } from '../../src/storage/memory/evidence-rows.js';
import type { StepContext } from '../context.js';
import { withDatabaseRetry } from '../database-retry.js';
import type { CallNotes } from './call-notes.js';
import type { EarlierCalls } from './earlier-calls.js';

interface Written {
  readonly intent: { readonly runId: string; readonly callId: string };
  readonly earlier: EarlierCalls;
  readonly memory: { readonly spaces: ReadonlyMap<string, unknown> } | null;
}

/** The outcome with what all executions of the call have written into memory. One that is new has written what its notes say. */
export async function withWrites(
  ctx: StepContext,
  { intent, earlier, memory }: Written,
  outcome: CallOutcome,
  notes: CallNotes | null,
): Promise<CallOutcome> {
  if (memory === null || memory.spaces.size === 0 || outcome.type === 'refused') return outcome;
  const hasWritten = (await notes?.hasWritten()) ?? false;
  if (!hasWritten && earlier.isNew(intent.callId)) return outcome;
  const writes = await withDatabaseRetry(() => writesMade(ctx.knex, intent.runId, intent.callId));
  return writes === null ? outcome : { ...outcome, memory: { ...outcome.memory, writes } };
}
