import { z } from 'zod';
import { patchOperation } from '../difference.js';
import { jsonObject } from '../json.js';
import type { CallOutcome } from '../log/call-outcome.js';
import { EVENT_DATA, type ToldEvent } from '../log/event.js';
import { usdText } from '../money.js';
import { runStatus } from '../runs/run.js';
import { INTERRUPTION_STATUSES } from './interruption.js';

const count = z.object({ name: z.string(), count: z.int() });

export const interruptionCounts = z
  .object({
    pending: z.int().describe('How many wait for a person.'),
    mine: z.int().describe('How many of them the caller has approved, and others still must.'),
    byKind: z.array(count),
    byAgent: z.array(count).describe('The 20 agents with the most.'),
    byTool: z.array(count).describe('The 20 tools with the most.'),
    expiringWithinHour: z.int(),
    oldestRequestedAt: z.iso.datetime().nullable().describe('Null: nothing waits.'),
    atLeast: z.boolean().describe('Whether counting stopped at 10,000.'),
  })
  .meta({ id: 'InterruptionCounts' });
export type InterruptionCounts = z.infer<typeof interruptionCounts>;

/** One capability that a call needs, checked against the grants of its run. */
const check = z.object({
  capability: z.string(),
  effect: z.enum(['allow', 'ask', 'deny']),
  rule: z.string().nullable().describe('The grant that decides; null: none covers it.'),
  reason: z.string(),
});

const storyTurn = z.object({
  seq: z.int(),
  turn: z.int(),
  text: z.string().describe('What the model said; the first 2,000 characters.'),
  calls: z.array(
    z.object({
      callId: z.string(),
      tool: z.string(),
      arguments: z.string().describe('The first 300 characters of their JSON.'),
      outcome: z.string().nullable().describe('The first 300 characters of how it ended; null: it has not ended.'),
    }),
  ),
});
export type StoryTurn = z.infer<typeof storyTurn>;

export const interruptionContext = z
  .object({
    tool: z
      .object({
        name: z.string(),
        version: z.string(),
        description: z.string(),
        effect: z.enum(['pure', 'idempotent', 'unsafe']),
        input: jsonObject.nullable().describe('The JSON schema of its arguments; null: it cannot be written as one.'),
      })
      .nullable()
      .describe('The tool as this server knows it; null: it does not, or the interruption is about no call.'),
    checks: z.array(check).describe('What the call needs, checked against the grants of its run now.'),
    run: z.object({
      id: z.string(),
      agent: z.string(),
      agentVersion: z.string(),
      status: runStatus,
      input: z.string().describe('The first 300 characters.'),
      startedBy: z.array(z.string()).describe('Who asked for the run, and for those that it was made of.'),
      turns: z.int(),
      totalTokens: z.int(),
      costUsd: usdText.nullable(),
      createdAt: z.iso.datetime(),
    }),
    story: z.array(storyTurn).describe('The last 8 turns before it was asked for, oldest first.'),
    before: z
      .array(
        z.object({
          id: z.string(),
          runId: z.string(),
          status: z.enum(INTERRUPTION_STATUSES),
          actor: z.string().nullable(),
          message: z.string().nullable(),
          arguments: z.string().describe('The first 300 characters of their JSON.'),
          difference: z.array(patchOperation).nullable().describe('How an approval changed them; null: it did not.'),
          decidedAt: z.iso.datetime(),
        }),
      )
      .describe('The last 5 decisions about calls of the same tool, newest first.'),
    notes: z.array(
      z.object({
        kind: z.enum(['first_time', 'changed_since_asked']),
        detail: z.string(),
      }),
    ),
  })
  .meta({ id: 'InterruptionContext' });
export type InterruptionContext = z.infer<typeof interruptionContext>;

export const decisionCheck = z
  .object({
    ok: z.boolean().describe('Whether the approval would be taken now.'),
    errors: z.array(z.object({ code: z.string(), pointer: z.string(), detail: z.string() })),
    difference: z
      .array(patchOperation)
      .describe('JSON Patch (RFC 6902) from the arguments that were asked for to those that were given.'),
    capabilities: z.array(z.string()).describe('What the call with these arguments needs, as far as it is known.'),
    settles: z.boolean().describe('Whether this approval is the last one that is needed.'),
  })
  .meta({ id: 'DecisionCheck' });
export type DecisionCheck = z.infer<typeof decisionCheck>;

export const STORY_TURNS = 8;
const TEXT_CHARS = 2000;
const PREVIEW_CHARS = 300;

const message = z.object({
  type: z.literal('message'),
  content: z.array(z.object({ text: z.string().optional() })),
});

const textsIn = (output: readonly unknown[]): string =>
  output
    .flatMap((item) => message.safeParse(item).data?.content.flatMap(({ text }) => text ?? []) ?? [])
    .filter((text) => text !== '')
    .join('\n');

/** Gives so many characters of a text at most, without what a reader may not see. */
export type Shorten = (text: string, chars: number) => string;

/** The beginning of a value as JSON; of a text the text itself. */
export const previewOf = (value: unknown, shorten: Shorten): string =>
  shorten(typeof value === 'string' ? value : JSON.stringify(value), PREVIEW_CHARS);

type Call = StoryTurn['calls'][number];
type Told = Pick<ToldEvent, 'seq' | 'kind' | 'data'>;

/** What was said and done in the last turns of a log. Payloads that were erased are left out. */
export function lastTurns(events: readonly Told[], shorten: Shorten): StoryTurn[] {
  const turns: StoryTurn[] = [];
  const calls = new Map<string, Call>();
  for (const { seq, kind, data } of events) {
    if (kind === 'model.responded') {
      const said = EVENT_DATA[kind].safeParse(data).data;
      if (said === undefined) continue;
      turns.push({ seq, turn: said.turn, text: shorten(textsIn(said.output), TEXT_CHARS), calls: [] });
    } else if (kind === 'call.checked') {
      const checked = EVENT_DATA[kind].safeParse(data).data;
      if (checked === undefined || calls.has(checked.callId)) continue;
      const { callId, tool } = checked;
      const call = { callId, tool, arguments: previewOf(checked.arguments, shorten), outcome: null };
      calls.set(callId, call);
      turns.at(-1)?.calls.push(call);
    } else if (kind === 'call.finished') {
      const finished = EVENT_DATA[kind].safeParse(data).data;
      const call = finished && calls.get(finished.callId);
      if (finished !== undefined && call !== undefined) call.outcome = outcomeText(finished.outcome, shorten);
    }
  }
  return turns.slice(-STORY_TURNS);
}

function outcomeText(outcome: CallOutcome, shorten: Shorten): string {
  if (outcome.type === 'output') return previewOf(outcome.output, shorten);
  return previewOf(`${outcome.type === 'error' ? outcome.code : outcome.why}: ${outcome.message}`, shorten);
}
