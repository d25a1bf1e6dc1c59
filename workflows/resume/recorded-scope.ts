import type { RecordedSegment } from '../../src/core/log/recording.js';
import { breathe } from '../../src/storage/database/breathe.js';
import type { Settled } from '../../steps/segment/begin-segment.js';
import { NO_WRITER } from '../../steps/segment/write-log.js';
import type { RecordedSource } from '../replay/recorded-source.js';
import { RunLog } from '../segment-log.js';
import { freshScope, type SegmentScope } from '../segment-context.js';

/** What the execution of a recorded segment shares with that of others. */
export type RecordedPlace = Pick<
  SegmentScope,
  'world' | 'agents' | 'run' | 'execution' | 'gate' | 'provider' | 'earlier'
>;

/** Turns and tokens of the segments before. */
export interface Counted {
  readonly turns: number;
  readonly totalTokens: number;
}

/** Opens the scope in which a recorded segment is executed again, with its first event. Nothing is written. */
export function recordedScope(
  place: RecordedPlace,
  recorded: RecordedSegment,
  source: RecordedSource,
  settled: readonly Settled[],
  counted: Counted,
  signal: AbortSignal = new AbortController().signal,
): SegmentScope {
  const { world, agents, run, execution, gate, provider, earlier } = place;
  const { segment, first, decisions, ending, answers } = recorded;
  const log = new RunLog(segment, '', NO_WRITER, (draft) => source.accepts(draft), source.keys);
  log.add('segment.started', { segment: first, decisions: [...decisions] });
  return freshScope({
    ...{ world, agents, run, segment, first, execution, log, gate, provider, earlier, settled },
    ...{ isLeaving: () => false, suspected: false, signal, recorded: source },
    watchOn: () => ({ signal, release: () => undefined }),
    ...{ turns: counted.turns, totalTokens: counted.totalTokens, standing: [], deltas: null, stored: null },
    turnsPerSegment: ending === 'cut' ? answers.size : Number.POSITIVE_INFINITY,
  });
}

/** What is recorded is executed without ever waiting for anything: others get their turn. Whoever asked for a replay may be gone. */
export async function breatheInRecorded(scope: SegmentScope): Promise<void> {
  if (scope.recorded === null) return;
  try {
    await breathe(scope.recorded.closed ? scope.signal : undefined);
  } catch (error) {
    scope.broken ??= { error };
    throw error;
  }
}
