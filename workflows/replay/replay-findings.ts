import type { JsonValue } from '../../src/core/json.js';
import type { CallOutcome } from '../../src/core/log/call-outcome.js';
import type { EventDraft } from '../../src/core/log/event.js';
import { NAMED_DIFFERENCES, namedValue, type ReplayDifference } from '../../src/core/replay/replay.js';
import type { RepeatableCall } from '../../steps/calls/execute-again.js';

/** The event that ends the log of a run. */
export type RunEnd = Extract<EventDraft, { kind: 'run.completed' | 'run.failed' | 'run.cancelled' }>;

/** A call that can be executed again, how it ended, and the event that says so. */
export interface RecordedEnd {
  readonly call: RepeatableCall;
  readonly outcome: CallOutcome;
  readonly key: string;
  readonly seq: number;
}

/** What a replay has found so far, over all segments. */
export class ReplayFindings {
  readonly differences: ReplayDifference[] = [];
  /** Differences beside those that are named. */
  more = 0;
  /** How many events were derived again, and the number of the last of them. */
  events = 0;
  upTo = 0;
  /** Where the replay could not go on before the end of the log; null: it came to it. */
  stoppedAt: string | null = null;
  /** Calls of deterministic tools, as they ended. */
  readonly repeatable: RecordedEnd[] = [];
  readonly #notCompared = new Set<string>();
  readonly #from: number;

  /** Differences of events before `from` are not looked at. */
  constructor(from: number) {
    this.#from = from;
  }

  get notCompared(): readonly string[] {
    return [...this.#notCompared];
  }

  leaveOut(what: string): void {
    if (this.#notCompared.size < NAMED_DIFFERENCES) this.#notCompared.add(what);
  }

  met(seq: number): void {
    this.events++;
    this.upTo = Math.max(this.upTo, seq);
  }

  isLookedAt(seq: number | null): boolean {
    return seq === null || seq >= this.#from;
  }

  /** A difference in what an event says: the replay goes on behind it. */
  add(difference: ReplayDifference): void {
    if (!this.isLookedAt(difference.seq)) return;
    this.#name(difference);
  }

  /** A difference behind which nothing can be checked against the log any more. It counts wherever it is. */
  addEnd(difference: ReplayDifference): void {
    this.stoppedAt ??= difference.what;
    this.#name(difference);
  }

  /** What was found later comes where its event is. */
  sort(): void {
    const placeOf = ({ seq }: ReplayDifference): number => seq ?? Number.MAX_SAFE_INTEGER;
    this.differences.sort((a, b) => placeOf(a) - placeOf(b));
  }

  #name(difference: ReplayDifference): void {
    if (this.differences.length >= NAMED_DIFFERENCES) {
      this.more++;
      return;
    }
    const named = (value: JsonValue): JsonValue => namedValue(value);
    this.differences.push({
      ...difference,
      expected: named(difference.expected),
      actual: named(difference.actual),
    });
  }
}
