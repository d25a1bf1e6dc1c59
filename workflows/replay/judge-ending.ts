import { canonical, type JsonValue, toJson } from '../../src/core/json.js';
import type { EventData, EventDraft } from '../../src/core/log/event.js';
import {
  draftOf,
  eventName,
  type KeyedEvent,
  type RecordedSegment,
  segmentNumbers,
} from '../../src/core/log/recording.js';
import type { Ending, Wait } from '../../src/core/runs/ending.js';
import type { ReplayFindings, RunEnd } from './replay-findings.js';
import type { ReplaySource } from './replay-source.js';

/** How the execution of a recorded segment ended; `log_ends`: it came to something that no one has recorded. */
export type Came = Ending | { readonly type: 'log_ends' };

interface EndOfSegment {
  readonly key: string;
  readonly seq: number;
  readonly waits: readonly EventData<'interruption.requested'>[];
}

/** What a log says of the ends of its segments, and of its own. */
export class RecordedEnds {
  readonly end: RunEnd | null;
  readonly seqOf: ReadonlyMap<string, number>;
  readonly #segments = new Map<number, EndOfSegment>();
  readonly #children: { readonly seq: number; readonly tokens: number }[] = [];

  constructor(log: readonly KeyedEvent[]) {
    const numberOf = segmentNumbers(log);
    this.seqOf = new Map(log.map(({ key, seq }) => [key, seq]));
    const asked = new Map<string, EventData<'interruption.requested'>>();
    let end: RunEnd | null = null;
    for (const event of log) {
      const { seq, key } = event;
      if (!ENDS.has(event.kind)) continue;
      const draft = draftOf(event);
      if (draft.kind === 'interruption.requested') asked.set(draft.data.id, draft.data);
      if (draft.kind === 'child.ended') this.#children.push({ seq, tokens: draft.data.usage.totalTokens });
      if (draft.kind === 'segment.cut') this.#segments.set(numberOf(key) ?? -1, { key, seq, waits: [] });
      if (draft.kind === 'run.paused') {
        const waits = draft.data.interruptions.flatMap((id) => asked.get(id) ?? []);
        this.#segments.set(numberOf(key) ?? -1, { key, seq, waits });
      }
      if (isEnd(draft)) end = draft;
    }
    this.end = end;
  }

  of(segment: RecordedSegment): EndOfSegment | null {
    return this.#segments.get(segment.segment) ?? null;
  }

  /** Tokens of the runs below that had ended before an event. */
  childTokensBefore(before: number): number {
    return this.#children.reduce((sum, { seq, tokens }) => (seq < before ? sum + tokens : sum), 0);
  }
}

const ENDS: ReadonlySet<string> = new Set([
  ...['interruption.requested', 'child.ended', 'segment.cut', 'run.paused'],
  ...['run.completed', 'run.failed', 'run.cancelled'],
]);
const isEnd = (draft: EventDraft): draft is RunEnd =>
  draft.kind === 'run.completed' || draft.kind === 'run.failed' || draft.kind === 'run.cancelled';

/** What ends a run by what its agent does; everything else comes from outside, where a replay does not look. */
const OWN_ENDS: ReadonlySet<string> = new Set([
  ...['capability_denied', 'limit_turns', 'limit_tokens', 'output_invalid', 'guardrail_tripped'],
]);

/**
 * Holds the end of a segment against the log. Returns the state that the next one starts from; null: the replay is over, because the
 * log is, or because it went another way.
 */
export function judgeEnding(
  source: ReplaySource,
  segment: RecordedSegment,
  ends: RecordedEnds,
  came: Came,
  findings: ReplayFindings,
): string | null {
  if (source.isAstray) return null;
  const end = ends.of(segment);
  const last = end === null ? ends.end : null;
  const part = (key: string, what: string, expected: JsonValue): null => {
    findings.addEnd({ seq: ends.seqOf.get(key) ?? null, key, what, field: '', expected, actual: said(source, came) });
    return null;
  };
  const missing = source.unmetEvents().find((event) => !(endedFromOutside(last) && isHalt(event)));
  if (missing !== undefined) return part(missing.key, eventName(missing), eventName(missing));
  if (end !== null) {
    const what = end.key.endsWith(':cut') ? 'segment.cut' : 'run.paused';
    const isSame = came.type === segment.ending && source.cameTo === null;
    if (!isSame || (came.type !== 'paused' && came.type !== 'cut')) return part(end.key, what, what);
    findings.met(end.seq);
    if (came.type === 'paused') compareWaits(end, came.waits, findings);
    return came.state;
  }
  if (last === null || !compareEnds(last, source, came, findings, part)) return null;
  const seq = ends.seqOf.get(last.key) ?? 0;
  findings.met(seq);
  if (last.kind === 'run.completed' && came.type === 'completed') {
    const said = { expected: last.data.output, actual: came.output };
    if (canonical(said.expected) !== canonical(said.actual))
      findings.add({ seq, key: last.key, what: last.kind, field: '/output', ...said });
  }
  return null;
}

type Part = (key: string, what: string, expected: JsonValue) => null;

function compareEnds(last: RunEnd, source: ReplaySource, came: Came, findings: ReplayFindings, part: Part): boolean {
  if (endedFromOutside(last)) {
    findings.leaveOut(
      last.kind === 'run.failed' ? `what ended the run (${last.data.error.code})` : 'what ended the run',
    );
    return true;
  }
  if (last.kind === 'run.failed') {
    const isSame = came.type === 'failed' && came.error.code === last.data.error.code;
    if (!isSame) part(last.key, last.kind, failure(last.data.error));
    return isSame;
  }
  if (last.kind === 'run.completed' && came.type === 'completed' && source.cameTo === null) return true;
  part(last.key, last.kind, last.kind);
  return false;
}

export const endedFromOutside = (end: RunEnd | null): boolean =>
  end?.kind === 'run.cancelled' || (end?.kind === 'run.failed' && !OWN_ENDS.has(end.data.error.code));

/** What is noted of a call that was stopped with its run. */
const isHalt = (event: EventDraft): boolean =>
  event.kind === 'call.unknown' ||
  (event.kind === 'call.finished' && event.data.outcome.type === 'refused' && event.data.outcome.why === 'cancelled');

function compareWaits({ key, seq, waits }: EndOfSegment, came: readonly Wait[], findings: ReplayFindings): void {
  const expected = waits.filter(({ reason }) => reason !== 'budget').map(waitName);
  const actual = came
    .filter(({ reason }) => reason !== 'budget')
    .map((wait) => waitName({ ...wait, requiredApprovals: wait.approval?.required }));
  const sorted = (names: JsonValue[]): JsonValue[] => names.sort((a, b) => (canonical(a) < canonical(b) ? -1 : 1));
  if (canonical(sorted(expected)) === canonical(sorted(actual))) return;
  findings.add({ seq, key, what: 'run.paused', field: '/interruptions', expected, actual });
}

type Named = Pick<EventData<'interruption.requested'>, 'callId' | 'tool' | 'reason' | 'text' | 'digest'> & {
  readonly requiredApprovals?: number | undefined;
};

/** What a person is asked. Of what waits inside a call only the call is derived: the rest is its tool's word. */
const waitName = ({ callId, tool, reason, text, digest, requiredApprovals = 1 }: Named): JsonValue =>
  reason === 'tool_rule' || reason === 'grant_ask' || reason === 'unknown_effect'
    ? toJson({ callId, tool, reason, text, digest, requiredApprovals })
    : toJson({ callId, tool });

export const failure = ({ code, message }: { readonly code: string; readonly message: string }): string =>
  `the run fails: ${code}: ${message}`;

/** What came in the place of what the log says. */
function said(source: ReplaySource, came: Came): string {
  if (came.type === 'failed') return failure(came.error);
  if (source.cameTo !== null) return source.cameTo;
  if (came.type === 'completed') return 'the run completes';
  if (came.type === 'paused') return 'the run pauses';
  return came.type === 'cut' ? 'the segment is cut' : 'nothing more';
}
