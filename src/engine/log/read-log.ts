import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Caller } from '../../core/caller.js';
import { HoldfastError } from '../../core/errors/errors.js';
import { genesis } from '../../core/log/chain.js';
import { LogCheck } from '../../core/log/check-log.js';
import type { RunEvent } from '../../core/log/event.js';
import { type FoundText, type FoundTexts, foundIn, literal } from '../../core/log/find.js';
import type { StateAt } from '../../core/log/state.js';
import type { Page } from '../../core/page.js';
import { readClaim } from '../../storage/evidence/log-pages.js';
import { soundPlace } from '../../storage/log/fold-snapshots.js';
import { readEvent, readEvents, readEventsBefore } from '../../storage/log/read-events.js';
import type { UntilSignal } from '../concurrency/concurrency-limits.js';
import type { EngineContext } from '../engine-context.js';
import { logPages } from '../evidence/log-reading.js';
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

/**
 * The state of a run after one of its events (undefined: the last), folded from the last place before it whose state is kept. What
 * is folded is verified. Throws `run_unknown`, `invalid_request`, `log_broken`, `run_erased`.
 */
export async function stateAt(
  context: EngineContext,
  id: string,
  at: number | undefined,
  caller: Caller,
  signal?: AbortSignal,
): Promise<StateAt> {
  const { knex } = context.stepContext;
  const row = await readClaim(knex, caller.tenant, id);
  if (row === undefined) throw new HoldfastError('run_unknown', `There is no run ${JSON.stringify(id)}.`);
  const last = row.seq ?? 0;
  const to = at ?? last;
  if (to > last) {
    const detail = `at most ${last}, the last event`;
    throw new HoldfastError(
      'invalid_request',
      `/query/at: the log of run ${id} has no event ${to}; expected ${detail}.`,
      {
        fields: [{ pointer: '/query/at', detail }],
      },
    );
  }
  const from = (await soundPlace(knex, row, to)) ?? genesis(id, row.tenant);
  if (row.key === null && from.seq !== to)
    throw new HoldfastError('run_erased', `The payloads of run ${id} were erased: its state at event ${to} is gone.`, {
      hint: 'The log still has the hash of the state: read the event.',
    });
  const check = new LogCheck({ head: from, runKey: row.key });
  pages: for await (const page of logPages(knex, id, from.seq, signal)) {
    for (const event of page) {
      if (check.head.seq === to) break pages;
      const wrong = check.next(event);
      if (wrong === null) continue;
      throw new HoldfastError(
        'log_broken',
        `The log of run ${id} is broken before event ${to}: event ${wrong.seq}, ${wrong.invariant}: ${wrong.what}`,
        { hint: `The state is known up to event ${check.head.seq}.` },
      );
    }
  }
  const { seq, state, stateHash, hash } = check.head;
  if (seq !== to)
    throw new HoldfastError('log_broken', `The log of run ${id} ends with event ${seq}, and its head says ${last}.`);
  return { runId: id, seq, folded: seq - from.seq, state, stateHash, hash };
}
