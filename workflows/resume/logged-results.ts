import { z } from 'zod';
import { HoldfastError } from '../../src/core/errors/errors.js';
import { sha256 } from '../../src/core/json.js';
import { callOutcome } from '../../src/core/log/call-outcome.js';
import { textOf } from '../../src/core/log/long-outcome.js';
import { eventsByKeys } from '../../src/storage/evidence/log-pages.js';
import { withDatabaseRetry } from '../../steps/database-retry.js';
import { type PastItem, pastItem } from '../model-turn/trim-history.js';
import type { SegmentContext } from '../segment-context.js';
import { givenTo } from '../tool-calls/tool-body.js';
import { loggedItem } from './referred-payloads.js';

const finished = z.object({ callId: z.string(), outcome: callOutcome });

/** Puts a result of the log back into an item of a stored state. Throws `state_unreadable`. */
export async function withLogged(scope: SegmentContext, item: unknown): Promise<PastItem> {
  const { success, data } = loggedItem.safeParse(item);
  if (!success) return pastItem.parse(item);
  const { event: key, digest, rawItem, asText, ...rest } = data;
  const { knex } = scope.ctx;
  const { events } = await withDatabaseRetry(() => eventsByKeys(knex, scope.run.id, 0, [key]));
  const read = finished.safeParse(events[0]?.data);
  const given = read.success && read.data.callId === rawItem.callId ? givenTo(scope, read.data.outcome) : null;
  const text = textOf(given);
  if (sha256(text) !== digest)
    throw new HoldfastError(
      'state_unreadable',
      `The state refers to the result of the call ${rawItem.callId}, which the event ${key} of run ${scope.run.id} does not have.`,
    );
  scope.logged.set(rawItem.callId, { key, text, digest });
  return pastItem.parse({
    ...rest,
    type: 'tool_call_output_item',
    rawItem: { ...rawItem, output: { type: 'text', text } },
    output: asText ? text : given,
  });
}
