import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Caller } from '../../core/caller.js';
import { HoldfastError } from '../../core/errors/errors.js';
import type { RunEvent } from '../../core/log/event.js';
import { type FoundText, type FoundTexts, foundIn, literal } from '../../core/log/find.js';
import type { Page } from '../../core/page.js';
import { readEvent, readEvents, readEventsBefore } from '../../storage/log/read-events.js';
import type { UntilSignal } from '../concurrency/concurrency-limits.js';
import type { EngineContext } from '../engine-context.js';
import { statusOf } from '../runs/read-runs.js';

/** Which events of a log: after a place, or from the end and before one. */
export type WhichEvents = { readonly limit: number; readonly kind?: string } & (
  | { readonly after: number }
  | { readonly before: number | null }
);

export async function listEvents(
  context: EngineContext,
  id: string,
  which: WhichEvents,
  caller: Caller,
): Promise<Page<RunEvent>> {
  await statusOf(context, id, caller);
  const { knex } = context.stepContext;
  const { rows: items, more } =
    'after' in which
      ? await readEvents(knex, id, which.after, which.limit, which.kind)
      : await readEventsBefore(knex, id, which);
  return { items, nextCursor: more ? String(items.at(-1)?.seq ?? 0) : null };
}

export async function getEvent(context: EngineContext, id: string, seq: number, caller: Caller): Promise<RunEvent> {
  await statusOf(context, id, caller);
  const event = await readEvent(context.stepContext.knex, id, seq);
  if (event === undefined) throw new HoldfastError('event_unknown', `The log of run ${id} has no event ${seq}.`);
  return event;
}

/** Events that are read together. */
const BATCH = 500;
/** Events that one request reads. */
const READ_MOST = 5000;

interface Find {
  readonly text: string;
  readonly after: number;
  readonly limit: number;
}

/** Reads the log from a place on, until enough was found or enough was read. */
export const findInLog = (
  context: EngineContext,
  id: string,
  { text, after, limit }: Find,
  caller: Caller,
  options?: UntilSignal,
): Promise<FoundTexts> =>
  context.long.reading({ name: `find ${id}`, caller, ...options }, async (signal) => {
    await statusOf(context, id, caller);
    const wanted = literal(text);
    const items: FoundText[] = [];
    let upTo = after;
    for (let read = 0; read < READ_MOST; read += BATCH) {
      const { rows, more } = await readEvents(context.stepContext.knex, id, upTo, BATCH);
      for (const event of rows) {
        upTo = event.seq;
        items.push(...foundIn(event, wanted));
        if (items.length >= limit) return { items, upTo, nextCursor: String(upTo) };
      }
      if (!more) return { items, upTo, nextCursor: null };
      await nextTurn();
      signal.throwIfAborted();
    }
    return { items, upTo, nextCursor: String(upTo) };
  });
