import { type AllowedElsewhere, begunElsewhereText } from '../../src/core/interruptions/allowed-elsewhere.js';
import { type CallRecord, keepSettlement } from '../../src/storage/runs/calls.js';
import type { StepContext } from '../context.js';
import { withDatabaseRetry } from '../database-retry.js';
import type { ToolCall, ToolResult } from './call-tool.js';
import type { Continuation } from './wait-in-call.js';

/** Who allowed a call in another run, where nobody has in this one; null: nobody has to be asked. */
export const elsewhereOf = (
  { repeatApprovedBy, allowedElsewhere }: ToolCall,
  record: CallRecord | null,
): AllowedElsewhere | null => (repeatApprovedBy === null ? (record?.approvedIn ?? allowedElsewhere) : null);

/**
 * What comes of a call that only people of another run have allowed, in place of executing it: somebody is asked. What it waited
 * for and has come by now is kept, so that it goes on under that when it may. Null: it may be executed.
 */
export async function askedAgain(
  ctx: StepContext,
  call: ToolCall,
  record: CallRecord | null,
  goesOn: Continuation | null,
): Promise<ToolResult | null> {
  const elsewhere = elsewhereOf(call, record);
  // The result of a run below is only read: nothing is executed.
  if (elsewhere === null || goesOn?.settlement.type === 'child_ended') return null;
  if (goesOn !== null) await withDatabaseRetry(() => keepSettlement(ctx.knex, call.intent, goesOn));
  return { type: 'unknown', text: begunElsewhereText(call.spec.name, elsewhere) };
}

/** Whether a call waits for an answer that was given in another run: it is asked for again, where the tool would go on with it. */
export const answeredElsewhere = (call: ToolCall, goesOn: Continuation | null): boolean =>
  call.allowedElsewhere !== null && goesOn !== null && call.spec.resume !== null;
