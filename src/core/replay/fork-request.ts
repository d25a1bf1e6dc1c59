import { z } from 'zod';
import { jsonObject, nameText } from '../json.js';
import { callOutcome } from '../log/event.js';
import { runInput, startRun } from '../runs/run.js';

const { maxTurns, maxTotalTokens, maxDurationMs, metadata } = startRun.shape;
const model = nameText.optional().describe('Asked in place of the models of the agents from here on.');
const shared = { model, maxTurns, maxTotalTokens, maxDurationMs, metadata };

/** An outcome with a field that is not known is refused: what it was to say would be lost. */
const [output, error, refused] = callOutcome.options;
const editedOutcome = z.discriminatedUnion('type', [output.strict(), error.strict(), refused.strict()]);

/** The body of `POST /api/v1/runs/{id}/fork`. */
export const forkRun = z
  .strictObject({
    at: z
      .union([z.int().min(1), z.string().min(1).max(200)])
      .describe('The last event that the fork takes over: its sequence number, or its id.'),
    input: runInput.optional().describe('Another input. What was answered up to the event stays as it was.'),
    edits: z
      .array(
        z.union([
          z.strictObject({
            turn: z.int().min(1),
            output: z.array(jsonObject).min(1).max(1000).describe('Items in the format of the Agents SDK.'),
          }),
          z.strictObject({ callId: z.string().min(1).max(1000), outcome: editedOutcome }),
        ]),
      )
      .max(100)
      .optional()
      .describe(
        'Other answers of the model, or other outcomes of calls. What came after the first of them is not taken over.',
      ),
    ...shared,
  })
  .meta({ id: 'ForkRun' });
export type ForkRun = z.input<typeof forkRun>;

/** What a fork and a retry may change of how the run goes on. */
export type Onward = z.output<typeof retryRun>;

/** The body of `POST /api/v1/runs/{id}/retry`. */
export const retryRun = z.strictObject(shared).meta({ id: 'RetryRun' });
export type RetryRun = z.input<typeof retryRun>;
