import { canonical, type JsonValue } from '../json.js';
import type { RecordedCall, RecordedSegment } from '../log/recording.js';

/** A call of a log, as it was first asked for. */
export interface AskedBefore {
  readonly tool: string;
  readonly arguments: JsonValue;
  /** A person, or a standing decision, has said whether it may run. */
  readonly decided: boolean;
  /** What came of it; null: nothing that could stand for it. */
  readonly end: Extract<RecordedCall, { type: 'settled' | 'tripped' }> | null;
}

/** The calls of a log, each to be given once: to a call of the same tool with the same arguments, in their order. */
export class RecordedCalls {
  readonly #left: AskedBefore[];

  constructor(segments: readonly RecordedSegment[]) {
    this.#left = askedIn(segments);
  }

  /** Takes the first that is the same; null: there is none, or all were given. */
  take(tool: string, args: JsonValue): AskedBefore | null {
    const text = canonical(args);
    const index = this.#left.findIndex((one) => one.tool === tool && canonical(one.arguments) === text);
    return index === -1 ? null : (this.#left.splice(index, 1)[0] ?? null);
  }

  /** Arguments of the calls of a tool that were not given. */
  unused(tool: string): JsonValue[] {
    return this.#left.flatMap((one) => (one.tool === tool ? [one.arguments] : []));
  }
}

function askedIn(segments: readonly RecordedSegment[]): AskedBefore[] {
  const ends = new Map<string, AskedBefore['end']>();
  for (const { calls } of segments) for (const [callId, call] of calls) ends.set(callId, endOf(call));
  const asked = new Map<string, AskedBefore>();
  for (const { events } of segments) {
    for (const { kind, data } of events.values()) {
      if (kind !== 'call.checked') continue;
      const { callId, tool, decision, standingDecision } = data;
      const end = ends.get(callId) ?? null;
      const wasAsked = decision === 'ask' || standingDecision !== undefined;
      const before = asked.get(callId) ?? { tool, arguments: data.arguments, decided: false, end };
      // Judged again after a decision, which may have put other arguments in the place of the model's.
      asked.set(callId, { ...before, decided: before.decided || (wasAsked && end !== null) });
    }
  }
  return [...asked.values()];
}

/** Refusals by grants, schemas or the end of a run say nothing of what the tool would have done. */
const NO_RESULT: ReadonlySet<string> = new Set(['denied', 'invalid_arguments', 'cancelled']);

function endOf(call: RecordedCall): AskedBefore['end'] {
  if (call.type !== 'settled' && call.type !== 'tripped') return null;
  return call.outcome.type === 'refused' && NO_RESULT.has(call.outcome.why) ? null : call;
}
