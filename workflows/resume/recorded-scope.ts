import type { RecordedSegment } from '../../src/core/log/recording.js';
import { breathe } from '../../src/storage/database/breathe.js';
import type { SettledInterruption } from '../../steps/segment/begin-segment.js';
import { NO_WRITER } from '../../steps/segment/write-log.js';
import type { RecordedSource } from '../replay/recorded-source.js';
import { newSegmentContext, type SegmentContext } from '../segment-context.js';
import { SegmentLog } from '../segment-log.js';

/** What the execution of a recorded segment shares with that of others. */
export type RecordedPlace = Pick<
  SegmentContext,
  'ctx' | 'agents' | 'run' | 'execution' | 'gate' | 'provider' | 'earlier'
>;

/** Turns and tokens of the segments before. */
export interface Counted {
  readonly turns: number;
  readonly totalTokens: number;
}

/** Opens the scope in which a recorded segment is executed again, with its first event. Nothing is written. */
export function openRecordedSegment(
  place: RecordedPlace,
  recorded: RecordedSegment,
  source: RecordedSource,
  settled: readonly SettledInterruption[],
  counted: Counted,
  signal: AbortSignal = new AbortController().signal,
): SegmentContext {
  const { ctx, agents, run, execution, gate, provider, earlier } = place;
  const { segment, first, decisions, ending, answers } = recorded;
  const log = new SegmentLog(segment, '', NO_WRITER, (draft) => source.accepts(draft), source.keys);
  log.add('segment.started', { segment: first, decisions: [...decisions] });
  return newSegmentContext({
    ...{ ctx, agents, run, segment, first, execution, log, gate, provider, earlier, settled },
    ...{ isDraining: () => false, suspected: false, signal, recorded: source },
    signalWithoutLimit: () => ({ signal, release: () => undefined }),
    ...{ turns: counted.turns, totalTokens: counted.totalTokens, standing: [], deltas: null, stored: null },
    turnsPerSegment: ending === 'cut' ? answers.size : Number.POSITIVE_INFINITY,
  });
}

/** What is recorded is executed without ever waiting for anything: others get their turn. Whoever asked for a replay may be gone. */
export async function breatheInRecorded(scope: SegmentContext): Promise<void> {
  if (scope.recorded === null) return;
  try {
    await breathe(scope.recorded.closed ? scope.signal : undefined);
  } catch (error) {
    scope.broken ??= { error };
    throw error;
  }
}
