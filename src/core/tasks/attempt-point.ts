import { isEnvironmentTrouble } from '../errors/environment-errors.js';
import { EVENT_DATA } from '../log/event.js';
import type { KeyedEvent } from '../log/recording.js';
import { planFork, retryPoint } from '../replay/fork.js';
import { callOf, filesFit, mayWork } from '../replay/fork-files.js';

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
