import type { Knex } from 'knex';
import { LoggedFacts } from '../../core/integrity/logged-facts.js';
import { isStateOf } from '../../core/integrity/shown-rows.js';
import { dataHash, eventHash } from '../../core/log/chain.js';
import type { LoggedEvent } from '../../core/log/check-log.js';
import { EVENT_DATA, type EventKind } from '../../core/log/event.js';
import type { RunState } from '../../core/log/state.js';
import { eventsByKeys, headAndLast, type WantedEvent } from '../evidence/log-pages.js';

/** What the log says of how a run was made, and of what its segment begins with. */
export type BeginFacts = { readonly facts: LoggedFacts } | { readonly broken: string };

/** Kinds that say how a run was made. They are the first two events of its log. */
export const MADE: ReadonlySet<string> = new Set<EventKind>(['run.created', 'run.forked', 'session.loaded']);
const FIRST = 2;

/**
 * Reads the first events of a log, and those under some keys, up to a number where one is given. Each must fit its own hashes; the
 * chain is for `verify`.
 */
export async function beginFacts(
  db: Knex,
  runId: string,
  keys: readonly string[],
  upTo = Number.POSITIVE_INFINITY,
): Promise<BeginFacts> {
  const { events, runKey } = await eventsByKeys(db, runId, FIRST, keys);
  const isAsked = ({ seq, kind }: LoggedEvent) => seq <= upTo && (seq > FIRST || MADE.has(kind));
  return begun(factsOf(events.filter(isAsked), runKey ?? ''));
}

/** Returns the state after the last event of a log; null: the stored head of the log is not that. */
export async function headState(db: Knex, runId: string): Promise<RunState | null> {
  const read = await headAndLast(db, runId);
  if (read === undefined) return null;
  const { head, last } = read;
  // The hash of the state is in the last event, so that the state is as the fold has written it.
  return last.hash === eventHash(last) && isStateOf(head, last) ? (JSON.parse(head.state) as RunState) : null;
}

/**
 * Returns the digest of the state that a segment goes on from, as the event says that ended the segment before. Null: the log is of an
 * older build, which kept no digest. Undefined: the log has no such event.
 */
export async function keptStateOf(db: Knex, runId: string, segment: number): Promise<string | null | undefined> {
  const before = segment - 1;
  const { events, runKey } = await eventsByKeys(db, runId, 0, [`${before}:paused`, `${before}:cut`]);
  const read = factsOf(events, runKey ?? '');
  // The key of an event is no part of its hash; the number of the segment is.
  if ('broken' in read || events.length !== 1 || read.facts.segment !== segment) return undefined;
  return read.facts.keptState;
}

/** The same, where the first event is among them. */
export const begun = (read: BeginFacts): BeginFacts =>
  'broken' in read || read.facts.created !== null ? read : { broken: 'its log does not begin with run.created' };

/** What some events of a log say. */
export function factsOf(events: readonly (LoggedEvent & Partial<WantedEvent>)[], runKey: string): BeginFacts {
  const facts = new LoggedFacts();
  for (const event of events) {
    const { seq, kind, at, data, dataText, digests } = event;
    const committed = digests != null || dataHash(runKey, seq, dataText ?? '') === event.dataHash;
    if (event.hash !== eventHash(event) || !committed) return { broken: `event ${seq} does not fit its own hashes` };
    if (!Object.hasOwn(EVENT_DATA, kind)) continue;
    const parsed = EVENT_DATA[kind as EventKind].safeParse(data);
    if (!parsed.success) return { broken: `event ${seq} does not have the shape of its kind` };
    facts.take(kind as EventKind, parsed.data as never, { seq, at }, digests ?? {});
  }
  return { facts };
}
