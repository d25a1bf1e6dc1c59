import { z } from 'zod';
import { type JsonObject, type JsonValue, jsonValue, sameJson, toJson } from '../json.js';
import type { EventData } from '../log/event.js';
import { usdText } from '../money.js';
import { errorView, usage } from '../runs/run.js';
import { said } from '../trajectories/trajectory-step.js';

/** How many calls that the run had made, and its replay has not, are named. */
const NAMED_CALLS = 20;

export const LIVE_STOPS = [
  'call_not_recorded',
  'call_without_outcome',
  'undecided',
  'server_not_recorded',
  'max_usd',
  'price_unknown',
  'limit_time',
] as const;

/** Why a live replay went no further. */
const liveStop = z
  .object({
    why: z.enum(LIVE_STOPS),
    turn: z.int(),
    text: z.string().describe('What was come to, and the way out.'),
    callId: z.string().nullable(),
    tool: z.string().nullable(),
    arguments: jsonValue,
    unused: z.array(jsonValue).describe('Arguments of recorded calls of the tool that were not asked for again.'),
  })
  .meta({ id: 'LiveReplayStop' });
export type LiveStop = z.infer<typeof liveStop>;

const side = z.object({
  turns: z.int(),
  usage,
  costUsd: usdText.describe('Of answers with a known price; now: with those to callbacks.'),
  unpriced: z.int().describe('Answers whose price is unknown.'),
  end: z.enum(['completed', 'failed', 'cancelled', 'open', 'stopped']),
  output: jsonValue.describe('Of a run that has completed; long ones by their beginning and digest.'),
  error: errorView.nullable(),
});
export type ReplaySide = z.infer<typeof side>;

/** What a replay that asks the models says beside the differences. */
export const liveReplay = z
  .object({ recorded: side, now: side, stopped: liveStop.nullable().describe('Null: the agent came to an end.') })
  .meta({ id: 'LiveReplay' });
export type LiveReplay = z.infer<typeof liveReplay>;

type Answer = EventData<'model.responded'>;

/** What a model said, without what a provider makes up: ids, reasoning, data of its own. */
export function saidIn({ agent, output }: Answer): { readonly [field: string]: JsonValue } {
  const calls = output.filter(({ type }) => type === 'function_call').map(callIn);
  return { agent, text: said(output, 'message'), calls };
}

const callIn = ({ name, arguments: text }: JsonObject): JsonValue => ({
  tool: name ?? null,
  arguments: argumentsIn(text ?? null),
});

function argumentsIn(text: JsonValue): JsonValue {
  try {
    return toJson(JSON.parse(String(text)));
  } catch {
    return text;
  }
}

interface SaidOtherwise {
  readonly field: string;
  readonly expected: JsonValue;
  readonly actual: JsonValue;
}

/** The fields in which two answers to the same turn differ. */
export function otherwiseSaid(then: Answer, now: Answer): SaidOtherwise[] {
  const was = saidIn(then);
  const is = saidIn(now);
  return Object.keys(was)
    .map((field) => ({ field: `/${field}`, expected: was[field] ?? null, actual: is[field] ?? null }))
    .filter(({ expected, actual }) => !sameJson(expected, actual));
}

/** The first of what was not used. */
export const namedCalls = (all: readonly JsonValue[]): JsonValue[] => all.slice(0, NAMED_CALLS);
