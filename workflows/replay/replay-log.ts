import type { Model, ModelProvider } from '@openai/agents';
import { HoldfastError } from '../../src/core/errors/errors.js';
import type { GrantSet } from '../../src/core/grants/grants.js';
import type { Standing } from '../../src/core/interruptions/standing.js';
import { areWhole, givenIn, type KeyedEvent, segmentsOf } from '../../src/core/log/recording.js';
import type { RunTask } from '../../src/core/tasks/resolve-task.js';
import type { RunRow } from '../../src/storage/runs/run-row.js';
import { EarlierCalls } from '../../steps/calls/earlier-calls.js';
import type { StepContext } from '../../steps/context.js';
import type { SettledInterruption } from '../../steps/segment/begin-segment.js';
import { durableProvider } from '../model-turn/durable-model.js';
import { type RunnableAgent, runFacts } from '../open-segment.js';
import { openRecordedSegment, type RecordedPlace } from '../resume/rebuild-state.js';
import { runAgent } from '../run-agent.js';
import { inSegment, type SegmentContext } from '../segment-context.js';
import { type Came, judgeEnding, RecordedEnds } from './judge-ending.js';
import { ReplayFindings } from './replay-findings.js';
import { LogEnds, ReplaySource } from './replay-source.js';

/** All that a replay knows of a run. It reads nothing while it executes. */
export interface ReplayedRun {
  readonly run: RunRow;
  /** The task that it executes; null: none. */
  readonly task: RunTask | null;
  readonly log: readonly KeyedEvent[];
  /** What was decided of interruptions, in the order of their ids. */
  readonly settledOf: (ids: readonly string[]) => readonly SettledInterruption[];
  readonly standing: readonly Standing[];
  /** What the run may do by the policy of today. */
  readonly grants: GrantSet;
}

export interface ReplayPlace {
  readonly ctx: StepContext;
  readonly agents: ReadonlyMap<string, RunnableAgent>;
}

/**
 * Executes the segments of a log from what it says, with the agents of today, and notes what differs. No model is asked, no tool
 * runs, no callback is heard, and nothing is read or written. Throws `state_unreadable` for a log that cannot be executed, and the reason of
 * the signal when it fires.
 */
export async function replayLog(
  place: ReplayPlace,
  replayed: ReplayedRun,
  from: number,
  signal: AbortSignal = new AbortController().signal,
): Promise<ReplayFindings> {
  const { run, log, standing } = replayed;
  const segments = segmentsOf(log);
  if (!areWhole(segments)) throw new HoldfastError('state_unreadable', 'The log is not whole: a segment is missing.');
  const findings = new ReplayFindings(from);
  const ends = new RecordedEnds(log);
  const workplace = { agents: place.agents, provider: UNASKED };
  const recorded: RecordedPlace = {
    ...{
      ...place,
      run: { ...runFacts(workplace, run, replayed.task), grants: replayed.grants, given: givenIn(log) },
    },
    ...{ execution: 'replay', gate: NO_GATE, earlier: new EarlierCalls(null), provider: durableProvider(UNASKED) },
  };
  const counted = { turns: 0, totalTokens: 0 };
  let snapshot: string | null = null;
  for (const [index, segment] of segments.entries()) {
    const end = index === segments.length - 1 ? ends.end : null;
    const part = { snapshot, standing, end, seqOf: ends.seqOf, copiedUpTo: run.recorded_seq ?? 0 };
    const source = new ReplaySource(segment, part, findings);
    const begin = ends.seqOf.get(source.keys[0] ?? '') ?? 0;
    const totalTokens = counted.totalTokens + ends.childTokensBefore(begin);
    const settled = replayed.settledOf(segment.decisions);
    const scope = openRecordedSegment(
      recorded,
      segment,
      source,
      settled,
      { turns: counted.turns, totalTokens },
      signal,
    );
    const came = await execute(scope, () => runAgent(workplace, scope));
    signal.throwIfAborted();
    snapshot = judgeEnding(source, segment, ends, came, findings);
    if (snapshot === null) break;
    for (const { usage } of segment.answers.values()) counted.totalTokens += usage.totalTokens;
    counted.turns += segment.answers.size;
  }
  return findings;
}

/** Lets the agent work to the end of the segment, or of what is recorded of it. */
export async function execute(scope: SegmentContext, work: () => ReturnType<typeof inSegment<Came>>): Promise<Came> {
  try {
    return await inSegment(scope, work);
  } catch (error) {
    if (!(error instanceof LogEnds)) throw error;
    // Calls that have ended beside the one where the log ends are still to be told.
    await Promise.allSettled(scope.results.values());
    await new Promise((resolve) => setImmediate(resolve));
    return { type: 'log_ends' };
  } finally {
    await scope.log.rest();
  }
}

const unasked = (): never => {
  throw new HoldfastError('internal', 'A replay asks no model.');
};

/** In place of all models: their answers are in the log, or the replay is over. */
const SILENT: Model = { getResponse: async () => unasked(), getStreamedResponse: unasked };
const UNASKED: ModelProvider = { getModel: async () => SILENT };

/** No step of a replay is one of DBOS. */
export const NO_GATE = { enter: async () => () => undefined };
