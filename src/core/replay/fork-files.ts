import { z } from 'zod';
import { EVENT_DATA, type EventDraft } from '../log/event.js';
import type { KeyedEvent } from '../log/recording.js';
import type { BegunCall } from './begun-calls.js';

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
export const callOf = ({ data }: KeyedEvent): string | undefined => named.safeParse(data).data?.callId;

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
export function mayWork(log: readonly KeyedEvent[]): (event: KeyedEvent) => boolean {
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
