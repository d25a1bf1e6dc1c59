import { type Agent, RunContext, RunState } from '@openai/agents';
import { HoldfastError } from '../../src/core/errors/errors.js';
import { type Standing, standingOf } from '../../src/core/interruptions/standing.js';
import { sha256 } from '../../src/core/json.js';
import { areWhole, type RecordedSegment, segmentsOf } from '../../src/core/log/recording.js';
import type { Ending } from '../../src/core/runs/ending.js';
import { keptStateOf } from '../../src/storage/integrity/begin-events.js';
import { decisionsOf, interruptionsByIds } from '../../src/storage/interruptions/interruptions.js';
import { standingByIds } from '../../src/storage/interruptions/standing-decisions.js';
import { readKeyedEvents } from '../../src/storage/log/keyed-events.js';
import type { RunRow } from '../../src/storage/runs/run-row.js';
import { readSnapshot, repairSnapshot } from '../../src/storage/runs/snapshots.js';
import type { StepContext } from '../../steps/context.js';
import { withDatabaseRetry } from '../../steps/database-retry.js';
import { type SettledInterruption, settledOf } from '../../steps/segment/begin-segment.js';
import { NO_WRITER } from '../../steps/segment/write-log.js';
import { type CallSource, LIVE } from '../call-source.js';
import { newSegmentContext } from '../open-segment.js';
import { RecordedSource } from '../replay/recorded-source.js';
import { inSegment, type SegmentContext } from '../segment-context.js';
import { SegmentLog } from '../segment-log.js';
import { type ReadState, readState, versionOf } from './state-text.js';

/** Lets the agent work in a scope. */
export type Work = (scope: SegmentContext) => Promise<Ending>;

/**
 * The state that a segment starts from. The snapshot is a cache: one that is missing, damaged, not what the log says, or of a version that the SDK
 * does not write is made again from the log, by executing the segments before with what was recorded. Takes no step, so that
 * a replay, which finds the new snapshot, takes the same ones.
 * Throws `state_unreadable` when the agent does not replay what is in the log.
 */
export async function storedState(scope: SegmentContext, agent: Agent, work: Work): Promise<string | ReadState> {
  const { ctx, run, segment, source } = scope;
  if (source.snapshot !== null) return source.snapshot;
  const snapshot = scope.stored ?? (await withDatabaseRetry(() => readSnapshot(ctx.knex, run.id, segment)));
  const logged = scope.loggedState;
  const sound = snapshot !== null && (logged === null || sha256(snapshot) === logged) ? snapshot : null;
  const read = sound === null ? null : await presentState(sound, agent);
  if (read !== null) return read;
  try {
    const state = await rebuild(scope, work);
    // A row that the log contradicts would be taken for one that someone changed.
    if (logged === null || sha256(state) === logged)
      await withDatabaseRetry(() => repairSnapshot(ctx.knex, { runId: run.id, tenant: run.tenant, segment, state }));
    return state;
  } catch (error) {
    if (!(error instanceof HoldfastError)) throw error;
    // A state of another version may still be one that the SDK reads.
    if (sound !== null) return sound;
    throw new HoldfastError(
      'state_unreadable',
      `The snapshot of run ${run.id} for segment ${segment} is missing, damaged or changed, and its log does not give it again: ${error.message}`,
    );
  }
}

/** The digest of the state that a segment of a run goes on from, as the log has it; undefined: it has none. */
export const loggedStateOf = async (
  { knex }: StepContext,
  run: RunRow,
  { first, snapshot }: CallSource,
): Promise<string | null | undefined> => {
  const number = first ?? run.segment;
  return number === 0 || snapshot !== null ? undefined : withDatabaseRetry(() => keptStateOf(knex, run.id, number));
};

/** The version that the SDK writes now. */
let present: unknown;
function presentVersion(agent: Agent): unknown {
  present ??= versionOf({
    value: JSON.parse(new RunState<unknown, Agent>(new RunContext<unknown>(), '', agent, null).toString()),
  });
  return present;
}

/** What a stored state says; null: it is not of the version that the SDK writes now, or damaged. */
export async function presentState(text: string, agent: Agent): Promise<ReadState | null> {
  try {
    const read = await readState(text);
    return versionOf(read) === presentVersion(agent) ? read : null;
  } catch {
    return null;
  }
}

/** What a run has of its segment before it executes it: that of a fork begins with a part of its source's log, one that was rebuilt with its own. */
export async function sourceOf(ctx: StepContext, run: RunRow): Promise<CallSource> {
  if (run.recorded_seq === null) return LIVE;
  const events = await withDatabaseRetry(() => readKeyedEvents(ctx.knex, run.id, run.recorded_seq));
  const begun = segmentsOf(events).find(({ segment }) => segment === run.segment);
  if (begun === undefined) return LIVE;
  return new RecordedSource(begun, { closed: false, snapshot: null, standing: await standingIn(ctx, begun) });
}

/** The standing decisions that let calls of a recorded segment go, also those that were revoked since. */
async function standingIn(ctx: StepContext, { events }: RecordedSegment): Promise<readonly Standing[]> {
  const ids = [...events.values()].flatMap((one) =>
    one.kind === 'call.checked' && one.data.standingDecision !== undefined ? [one.data.standingDecision] : [],
  );
  if (ids.length === 0) return [];
  return (await withDatabaseRetry(() => standingByIds(ctx.knex, ids))).map(standingOf);
}

/** Executes the segments before the present one from the log, each from the state that the one before ended with. */
async function rebuild(scope: SegmentContext, work: Work): Promise<string> {
  // Events of segments that are over never change, so that a replay reads the same.
  const events = await withDatabaseRetry(() => readKeyedEvents(scope.ctx.knex, scope.run.id, null));
  const before = segmentsOf(events).filter(({ segment }) => segment < scope.first);
  if (!areWhole(before) || before.at(-1)?.segment !== scope.first - 1)
    throw lost(`it has ${before.length} of the segments before ${scope.first}`);
  let snapshot: string | null = null;
  const counted = { turns: 0, totalTokens: 0 };
  for (const recorded of before) {
    snapshot = await executeAgain(scope, recorded, snapshot, counted, work, recorded === before.at(-1));
    for (const { usage } of recorded.answers.values()) counted.totalTokens += usage.totalTokens;
    counted.turns += recorded.answers.size;
  }
  if (snapshot === null) throw lost('it has no segment before this one');
  return snapshot;
}

const lost = (what: string): HoldfastError => new HoldfastError('state_unreadable', `the log is not whole: ${what}.`);

async function executeAgain(
  live: SegmentContext,
  recorded: RecordedSegment,
  snapshot: string | null,
  counted: { readonly turns: number; readonly totalTokens: number },
  work: Work,
  isLast: boolean,
): Promise<string> {
  if (recorded.ending === null) throw lost(`segment ${recorded.segment} has no end`);
  const standing = await standingIn(live.ctx, recorded);
  const source = new RecordedSource(recorded, { closed: true, snapshot, standing });
  const { knex } = live.ctx;
  const settled = await withDatabaseRetry(async () =>
    settledOf(await interruptionsByIds(knex, recorded.decisions), await decisionsOf(knex, recorded.decisions)),
  );
  const scope = openRecordedSegment(live, recorded, source, settled, counted);
  // The last state is stored again, as its segment has stored it.
  scope.refers = isLast;
  scope.logged = live.logged;
  const ending = await inSegment(scope, () => work(scope));
  await scope.log.rest();
  source.assertAllMet();
  if (ending.type !== 'paused' && ending.type !== 'cut') {
    const why = ending.type === 'failed' ? `: ${ending.error.message}` : '';
    throw new HoldfastError('replay_diverged', `Segment ${recorded.segment} now ends as ${ending.type}${why}.`);
  }
  return ending.state;
}

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
  const opened = newSegmentContext({
    ...{ ctx, agents, run, segment, first, execution, log, gate, provider, earlier, settled },
    ...{ isDraining: () => false, suspected: false, signal, source },
    signalWithoutLimit: () => ({ signal, release: () => undefined }),
    ...{
      turns: counted.turns,
      totalTokens: counted.totalTokens,
      standing: [],
      deltas: null,
      stored: null,
      loggedState: undefined,
    },
    turnsPerSegment: ending === 'cut' ? answers.size : Number.POSITIVE_INFINITY,
  });
  opened.refers = false;
  return opened;
}
