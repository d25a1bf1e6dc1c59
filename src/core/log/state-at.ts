import { z } from 'zod';
import { RUN_STATUSES, usage } from '../runs/run.js';

/** The folded state, as docs/events.md describes it. */
const runState = z.object({
  status: z.enum(['none', ...RUN_STATUSES]),
  segment: z.int(),
  turns: z.int(),
  usage,
  openCalls: z
    .record(z.string(), z.object({ tool: z.string(), digest: z.string(), at: z.string() }))
    .describe('Calls that were checked and are not over, by call id.'),
  closedCalls: z.object({ count: z.int(), digest: z.string() }),
  pending: z.record(z.string(), z.string()).describe('Interruptions that nobody decided: their kinds, by id.'),
  conversation: z.string().describe('Rolling digest of everything that the model said.'),
  cancelRequested: z.boolean(),
  result: z.string().nullable(),
});

/** The state of a run after one of its events. */
export const stateAt = z
  .object({
    runId: z.string(),
    seq: z.int(),
    folded: z.int().describe('So many events were folded; those before were taken from a state that was kept.'),
    state: runState,
    stateHash: z.string(),
    hash: z.string().describe('Hash of the event.'),
  })
  .meta({ id: 'StateAt' });
export type StateAt = z.infer<typeof stateAt>;
