import type { Knex } from 'knex';
import { dataHash, eventHash } from '../core/chain.js';
import type { LoggedEvent } from '../core/check-log.js';
import { EVENT_DATA, type EventKind } from '../core/event.js';
import { LoggedFacts } from '../core/logged-facts.js';
import { eventsUnder, type WantedEvent } from './log-pages.js';

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
  const { events, runKey } = await eventsUnder(db, runId, FIRST, keys);
  const isAsked = ({ seq, kind }: LoggedEvent) => seq <= upTo && (seq > FIRST || MADE.has(kind));
  return begun(factsOf(events.filter(isAsked), runKey ?? ''));
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
