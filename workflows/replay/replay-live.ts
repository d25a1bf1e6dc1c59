import type { ModelProvider } from '@openai/agents';
import { HoldfastError } from '../../src/core/errors/errors.js';
import { type JsonValue, sameJson } from '../../src/core/json.js';
import type { EventData } from '../../src/core/log/event.js';
import { areWhole, givenIn, type RecordedSegment, segmentsOf } from '../../src/core/log/recording.js';
import { nanosOf, usdOf } from '../../src/core/money.js';
import { type LiveReplay, otherwiseSaid, type ReplaySide, saidIn } from '../../src/core/replay/live-replay.js';
import { namedValue } from '../../src/core/replay/replay.js';
import type { Usage } from '../../src/core/runs/run.js';
import { unlessAborted } from '../../src/models/providers/abort.js';
import { EarlierCalls } from '../../steps/calls/earlier-calls.js';
import { durableProvider } from '../model-turn/durable-model.js';
import { runFacts } from '../open-segment.js';
import { openRecordedSegment, type RecordedPlace } from '../resume/rebuild-state.js';
import { runAgent } from '../run-agent.js';
import { type Came, endedFromOutside, failure, RecordedEnds } from './judge-ending.js';
import { type LiveOptions, LiveReplaySource, ONE_SEGMENT } from './live-replay-source.js';
import { ReplayFindings } from './replay-findings.js';
import { execute, NO_GATE, type ReplayedRun, type ReplayPlace } from './replay-log.js';

/** So long may it take: the one that asked for it waits for the answer. */
const LONGEST_MS = 240_000;

interface LivePlace extends ReplayPlace {
  readonly provider: ModelProvider;
}

type Answer = EventData<'model.responded'>;
type Recorded = { readonly seq: number; readonly key: string; readonly answer: Answer };

interface LiveFound {
  readonly findings: ReplayFindings;
  readonly live: LiveReplay;
  readonly executed: number;
}

/**
 * Lets the agents of today work on the input of a run, with their models and with the results that its calls had then. Nothing is
 * written. Throws `state_unreadable` for a log that cannot be read, and an AbortError when the signal fires.
 */
export async function replayLive(
  place: LivePlace,
  { run, task, log, grants }: Omit<ReplayedRun, 'settledOf' | 'standing'>,
  options: Omit<LiveOptions, 'run'> & { readonly from: number },
): Promise<LiveFound> {
  const segments = segmentsOf(log);
  if (!areWhole(segments)) throw new HoldfastError('state_unreadable', 'The log is not whole: a segment is missing.');
  const ends = new RecordedEnds(log);
  const late = new AbortController();
  const signal = AbortSignal.any([late.signal, options.signal]);
  const source = new LiveReplaySource(segments, { ...options, run, signal });
  const workplace = { agents: place.agents, provider: place.provider };
  const { limits, ...facts } = runFacts(workplace, run, task);
  const { budget: _budget, ...unbudgeted } = limits;
  const recorded: RecordedPlace = {
    ...{
      ...place,
      run: { ...facts, limits: unbudgeted, grants, given: givenIn(log) },
      provider: durableProvider(place.provider),
    },
    ...{ execution: 'replay', gate: NO_GATE, earlier: new EarlierCalls(null) },
  };
  const { maxDurationMs } = limits;
  const limitMs = Math.min(maxDurationMs ?? LONGEST_MS, LONGEST_MS);
  const timer = setTimeout(() => late.abort('limit_wall_time'), limitMs);
  const scope = openRecordedSegment(recorded, ONE_SEGMENT, source, [], { turns: 0, totalTokens: 0 }, signal);
  let came: Came = { type: 'log_ends' };
  try {
    came = await unlessAborted(
      execute(scope, () => runAgent(workplace, scope)),
      signal,
    );
  } catch (error) {
    if (!late.signal.aborted) throw error;
  } finally {
    clearTimeout(timer);
  }
  if (late.signal.aborted) source.stopLate(lateText(limitMs, limitMs === maxDurationMs));
  if (came.type !== 'completed') source.stopShort();
  const [wait] = came.type === 'paused' ? came.waits : [];
  if (wait !== undefined) source.stopUndecided(wait);
  const findings = new ReplayFindings(options.from);
  const then = answersIn(segments, ends);
  const now = sideNow(source, came);
  compareAnswers(then, source.answers, { isOpen: isOpen(ends), isWhole: now.end === 'completed' }, findings);
  compareEnds(then, ends, source, now, findings);
  return {
    findings,
    executed: source.executed,
    live: { recorded: sideThen(then, ends), now, stopped: source.stopped },
  };
}

const lateText = (limitMs: number, isOwn: boolean): string =>
  isOwn
    ? `The run may work for ${limitMs} ms (maxDurationMs), and its replay worked longer.`
    : `A live replay may work for ${limitMs} ms, and this one worked longer. Fork the run to go on live.`;

const answersIn = (segments: readonly RecordedSegment[], ends: RecordedEnds): Recorded[] =>
  segments.flatMap(({ events }) =>
    [...events.values()].flatMap(({ kind, key, data }) =>
      kind === 'model.responded' ? [{ seq: ends.seqOf.get(key) ?? 0, key, answer: data }] : [],
    ),
  );

/** A run that has not come to an end of its own has not said what it would say next. */
const isOpen = ({ end }: RecordedEnds): boolean => end === null || endedFromOutside(end);

/** Holds the answers against each other, turn by turn. What came after an end that both do not have is no difference in itself. */
function compareAnswers(
  then: readonly Recorded[],
  answers: readonly Answer[],
  { isOpen, isWhole }: { readonly isOpen: boolean; readonly isWhole: boolean },
  findings: ReplayFindings,
): void {
  let isSame = true;
  for (const [index, { seq, key, answer }] of then.entries()) {
    const now = answers[index];
    const what = `model.responded of turn ${answer.turn}`;
    if (now === undefined && (isOpen || !isWhole)) break;
    const others = now === undefined ? [missing(answer)] : otherwiseSaid(answer, now);
    for (const other of others) findings.add({ seq, key, what, ...other });
    isSame &&= others.length === 0;
    if (isSame) findings.met(seq);
  }
  for (const answer of isOpen ? [] : answers.slice(then.length)) {
    const what = `model.responded of turn ${answer.turn}`;
    findings.add({ seq: null, key: 'end', what, field: '', expected: null, actual: saidIn(answer) });
  }
}

const missing = (answer: Answer) => ({ field: '', expected: saidIn(answer), actual: null });

function compareEnds(
  then: readonly Recorded[],
  { end, seqOf }: RecordedEnds,
  { answers, stopped }: LiveReplaySource,
  now: ReplaySide,
  findings: ReplayFindings,
): void {
  const actual = stopped === null ? endName(now) : `the replay stops: ${stopped.why}`;
  if (end === null || endedFromOutside(end)) {
    if (end !== null)
      findings.leaveOut(end.kind === 'run.failed' ? `what ended the run (${end.data.error.code})` : end.kind);
    const next = then[answers.length];
    if (next !== undefined) findings.addEnd({ ...placeOf(next), field: '', expected: saidIn(next.answer), actual });
    return;
  }
  const seq = seqOf.get(end.key) ?? null;
  const part = { seq, key: end.key, what: end.kind };
  if (end.kind === 'run.failed' && now.end === 'failed' && now.error?.code === end.data.error.code) return;
  if (end.kind !== 'run.completed' || now.end !== 'completed') {
    const expected: JsonValue = end.kind === 'run.failed' ? failure(end.data.error) : end.kind;
    findings.addEnd({ ...part, field: '', expected, actual });
    return;
  }
  const expected = namedValue(end.data.output);
  if (!sameJson(expected, now.output)) findings.add({ ...part, field: '/output', expected, actual: now.output });
}

const endName = ({ error, end }: ReplaySide): string => (error === null ? `the run is ${end}` : failure(error));

const placeOf = ({ seq, key, answer }: Recorded) => ({ seq, key, what: `model.responded of turn ${answer.turn}` });

function sideThen(then: readonly Recorded[], { end }: RecordedEnds): ReplaySide {
  const answers = then.map(({ answer }) => answer);
  const paid = answers.flatMap(({ cost }) => (typeof cost?.usd === 'string' ? [nanosOf(cost.usd)] : []));
  return {
    ...{ turns: answers.length, usage: usageOf(answers), unpriced: answers.length - paid.length },
    costUsd: usdOf(paid.reduce((sum, nanos) => sum + nanos, 0n)),
    end: end === null ? 'open' : ENDS[end.kind],
    output: end?.kind === 'run.completed' ? namedValue(end.data.output) : null,
    error: end?.kind === 'run.failed' ? end.data.error : null,
  };
}

const ENDS = { 'run.completed': 'completed', 'run.failed': 'failed', 'run.cancelled': 'cancelled' } as const;

function sideNow({ answers, spendCap, stopped }: LiveReplaySource, came: Came): ReplaySide {
  const isOver = stopped === null && (came.type === 'completed' || came.type === 'failed');
  return {
    ...{ turns: answers.length, usage: usageOf(answers), costUsd: usdOf(spendCap.paid), unpriced: spendCap.unpriced },
    end: isOver ? came.type : 'stopped',
    output: isOver && came.type === 'completed' ? namedValue(came.output) : null,
    error: isOver && came.type === 'failed' ? came.error : null,
  };
}

const usageOf = (answers: readonly Answer[]): Usage => ({
  inputTokens: answers.reduce((sum, { usage }) => sum + usage.inputTokens, 0),
  outputTokens: answers.reduce((sum, { usage }) => sum + usage.outputTokens, 0),
  totalTokens: answers.reduce((sum, { usage }) => sum + usage.totalTokens, 0),
});
