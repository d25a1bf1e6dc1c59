import { z } from 'zod';
import { isEnvironmentTrouble } from '../errors/environment-errors.js';
import { EVENT_DATA, type EventDraft } from '../log/event.js';
import type { KeyedEvent } from '../log/recording.js';
import type { BegunCall } from './begun-calls.js';
import { planFork, retryPoint } from './fork.js';

/** What a fork takes over of what may have worked in a container. */
export interface Taken {
  readonly begun: ReadonlyMap<string, Pick<BegunCall, 'wait'>>;
  readonly events: readonly Pick<EventDraft, 'kind'>[];
}

const PREPARED = 'environment.prepared';
const isPrepared = ({ events }: Taken): boolean => events.some(({ kind }) => kind === PREPARED);

const OF_CALLS: ReadonlySet<string> = new Set(['call.started', 'call.unknown', 'call.finished']);
const ENDS: ReadonlySet<string> = new Set(['call.unknown', 'call.finished']);
const named = z.object({ callId: z.string() });

/** The call that an event is about, if it is about one. */
const callOf = ({ data }: KeyedEvent): string | undefined => named.safeParse(data).data?.callId;

/**
 * Whether what a fork takes over may have worked in the container of its source, where the first that had ended after its start did so with
 * event `from`.
 */
export function hasWorked(log: readonly KeyedEvent[], taken: Taken, from: number): boolean {
  if (isPrepared(taken) && log.some(({ seq, kind }) => kind === PREPARED && seq >= from)) return true;
  const before = new Set(log.filter(({ seq, kind }) => ENDS.has(kind) && seq < from).map(callOf));
  return [...taken.begun.keys()].some((callId) => !before.has(callId));
}

/**
 * Whether the files that were kept when event `kept` was the last one are those that a fork knows of: what worked on files by then it takes
 * over, and of what it takes over nothing did so later, but what waited, which waits again in the fork.
 */
export function filesFit(log: readonly KeyedEvent[], taken: Taken, kept: number): boolean {
  const works = mayWork(log);
  return log.filter(works).every((event) => {
    const isBefore = event.seq <= kept;
    if (event.kind === PREPARED) return isBefore === isPrepared(taken);
    const call = taken.begun.get(callOf(event) ?? '');
    return isBefore ? call !== undefined : call === undefined || call.wait !== null;
  });
}

/** Which events of a log are of what may have worked in the container of its run. */
function mayWork(log: readonly KeyedEvent[]): (event: KeyedEvent) => boolean {
  const elsewhere = workingElsewhere(log);
  return (event) => event.kind === PREPARED || (OF_CALLS.has(event.kind) && !elsewhere.has(callOf(event) ?? ''));
}

/** Calls that needed capabilities, and none for a container: they leave its files alone. */
function workingElsewhere(log: readonly KeyedEvent[]): ReadonlySet<string> {
  return new Set(
    log.flatMap(({ kind, data }) => {
      const checked = kind === 'call.checked' ? EVENT_DATA[kind].safeParse(data).data : undefined;
      if (checked === undefined || checked.checks.length === 0) return [];
      return checked.checks.some(({ capability }) => capability.startsWith('container:')) ? [] : [checked.callId];
    }),
  );
}

/**
 * The event that a further attempt of a task goes on from with the files that were kept when event `kept` was the last one: the last by
 * which nothing else had worked on files, and before each later call whose end no one knows. Null: the files are of no such moment,
 * as those of a run that ended under a command. Throws `fork_invalid` and `state_unreadable`, as a fork does.
 */
export function attemptPoint(log: readonly KeyedEvent[], kept: number): number | null {
  const ended = new Set(log.filter(isEnd).map(callOf));
  const left = log.filter((event) => event.kind === 'call.started' && !ended.has(callOf(event)));
  if (!wasAtRest(log, left, kept)) return null;
  const works = mayWork(log);
  const next = log.find((event) => event.seq > kept && (works(event) || left.includes(event)));
  const at = next === undefined ? retryPoint(log) : next.seq - 1;
  return filesFit(log, planFork(log, at, []), kept) ? at : null;
}

/** Whether a call came to an end of its own: not to one that ended its run, too. */
function isEnd({ kind, data }: KeyedEvent): boolean {
  if (kind !== 'call.finished') return false;
  const outcome = EVENT_DATA[kind].safeParse(data).data?.outcome;
  return outcome !== undefined && !(outcome.type === 'error' && isEnvironmentTrouble(outcome.code));
}

/** Whether no call was at work by then: those that never came to an end waited. */
function wasAtRest(log: readonly KeyedEvent[], left: readonly KeyedEvent[], kept: number): boolean {
  const before = log.filter(({ seq }) => seq <= kept);
  if (before.at(-1)?.kind === 'run.paused') return true;
  const segment = before.slice(before.findLastIndex(({ kind }) => kind === 'segment.started'));
  const waiting = new Set(segment.filter(({ kind }) => kind === 'interruption.requested').map(callOf));
  return left.every((call) => call.seq > kept || waiting.has(callOf(call)));
}
