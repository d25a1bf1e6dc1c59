import { z } from 'zod';
import { canonical, digestOf, type JsonValue, jsonValue } from '../json.js';
import { usdText } from '../money.js';
import { errorView } from '../runs/run.js';
import { liveReplay } from './live-replay.js';

/** How many differences a report names. */
export const NAMED_DIFFERENCES = 50;

/** Longer values of a difference are named by their beginning and their digest. */
const VALUE_CHARS = 2000;

/** What is asked of a replay. */
export const replayRequest = z
  .strictObject({
    from: z.int().min(1).optional().describe('Differences of events before this one are not looked at. Default 1.'),
    executePure: z
      .boolean()
      .optional()
      .describe(
        'Whether calls of tools that are declared deterministic are executed again, and in a live replay calls of pure tools that are not recorded. Default false.',
      ),
    liveModel: z.boolean().optional().describe('Whether the models are asked again, which costs money. Default false.'),
    maxUsd: usdText
      .optional()
      .describe('What a live replay may cost: from there on no model is asked. Needed where budgets apply to the run.'),
  })
  .meta({ id: 'Replay' });
export type ReplayRequest = z.infer<typeof replayRequest>;

/** One thing that today's agents do otherwise than the log says. */
export const replayDifference = z
  .object({
    seq: z.int().nullable().describe('Number of the event that was expected; null: the log has none there.'),
    key: z.string().describe('Natural key of the event: `<segment>:<ordinal>`, or `end`.'),
    what: z.string().describe('The event, and the turn or call that it is of.'),
    field: z.string().describe('JSON pointer into the data of the event; empty: the event itself.'),
    expected: jsonValue.describe('What the log says; null: nothing.'),
    actual: jsonValue.describe('What came instead; null: nothing.'),
  })
  .meta({ id: 'ReplayDifference' });
export type ReplayDifference = z.infer<typeof replayDifference>;

/** What a replay of a run says. */
export const replayReport = z
  .object({
    runId: z.string(),
    mode: z.enum(['strict', 'live_model']),
    result: z.enum(['same', 'diverged', 'cannot_replay']),
    from: z.int().describe('Differences of events before this one were not looked at.'),
    events: z
      .int()
      .describe('How many events of the log were derived again; live: answers, from the first on without a gap.'),
    upTo: z.int().describe('Number of the last of them; 0: none.'),
    whole: z.boolean().describe('Whether the replay came to the end of what the log says.'),
    differences: z.array(replayDifference).describe('The first is where today parts from the log.'),
    moreDifferences: z.int().describe('How many there are beside those that are named.'),
    executed: z.int().describe('How many calls of deterministic tools were executed again; live: of pure ones.'),
    notCompared: z.array(z.string()).describe('What a replay does not ask or look at in this run.'),
    live: liveReplay.nullable().describe('What the models that were asked cost and came to; null in a strict replay.'),
    reason: errorView.nullable().describe('Why the run cannot be replayed; else null.'),
  })
  .meta({ id: 'ReplayReport' });
export type ReplayReport = z.infer<typeof replayReport>;

/** A value that is short enough to be named. */
export function namedValue(value: JsonValue): JsonValue {
  const text = canonical(value);
  if (text.length <= VALUE_CHARS) return value;
  return { begins: text.slice(0, VALUE_CHARS).toWellFormed(), digest: digestOf(value) };
}
