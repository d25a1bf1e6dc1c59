import { z } from 'zod';
import type { Caller } from '../../core/caller.js';
import { HoldfastError } from '../../core/errors/errors.js';
import type { RunDelta } from '../../core/log/delta.js';
import type { RunEvent } from '../../core/log/event.js';
import type { Page, PageOf } from '../../core/page.js';
import { isOver, type ListedRun, type RunStatus, type RunView } from '../../core/runs/run.js';
import { atOneMoment } from '../../storage/database/transactions.js';
import { shownRun } from '../../storage/integrity/legible-rows.js';
import { shownOf } from '../../storage/integrity/shown-rows.js';
import { readEvents } from '../../storage/log/read-events.js';
import { cursorAfter, listRunRows } from '../../storage/runs/run-list.js';
import { findRun, findStatus } from '../../storage/runs/runs.js';
import type { Watch } from '../log/changes.js';
import type { Parts } from '../parts.js';
import type { DeltaFeed } from '../streaming/delta-feed.js';
import { withPreviews } from './previews.js';

/**
 * How often one looks again for what another process did; where there is none, or where the run is at work in this one, only
 * for what was missed.
 */
const lookAgainMs = (parts: Parts, runId: string): number =>
  parts.database.kind === 'pglite' || parts.running.has(runId) ? 5000 : 250;
const BATCH = 500;

const unknown = (id: string): HoldfastError =>
  new HoldfastError('run_unknown', `There is no run ${JSON.stringify(id)}.`);

/** Of a run that is looked at again and again: what it was given may be large. */
async function statusOf(parts: Parts, id: string, caller: Caller): Promise<RunStatus> {
  const status = await findStatus(parts.world.knex, caller.tenant, id);
  if (status === undefined) throw unknown(id);
  return status;
}

/** With what of it is not what its log says: row and log are read as of one moment. */
const viewOf = (parts: Parts, id: string, caller: Caller): Promise<RunView> =>
  atOneMoment(parts.world.knex, async (trx) => {
    const row = await findRun(trx, caller.tenant, id);
    if (row === undefined) throw unknown(id);
    const { pending = [], integrity = [] } = (await shownOf(trx, [row], 'whole')).get(id) ?? {};
    return shownRun(row, pending, integrity);
  });

const isSettled = (status: RunStatus): boolean => status === 'paused' || isOver(status);

export async function getRun(
  parts: Parts,
  id: string,
  caller: Caller,
  options: { readonly waitMs?: number; readonly signal?: AbortSignal } = {},
): Promise<RunView> {
  const until = performance.now() + (options.waitMs ?? 0);
  const watch = parts.changes.watch(id, 'run');
  try {
    for (;;) {
      const status = await statusOf(parts, id, caller);
      const left = until - performance.now();
      const isLast = left <= 0 || options.signal?.aborted === true;
      if (isSettled(status) || isLast) {
        const view = await viewOf(parts, id, caller);
        // It may have gone on since.
        if (isLast || isSettled(view.status)) return view;
      }
      await watch.changed(Math.min(left, lookAgainMs(parts, id)), options.signal);
    }
  } finally {
    watch.close();
  }
}

interface RunFilter extends PageOf {
  readonly status?: RunStatus;
  readonly agent?: string;
  /** Only runs that calls of this run started. */
  readonly parent?: string;
  /** Only runs that are about this one, and are not erased. */
  readonly subject?: string;
}

export async function listRuns(parts: Parts, filter: RunFilter, caller: Caller): Promise<Page<ListedRun>> {
  const { page, seen } = await atOneMoment(parts.world.knex, async (trx) => {
    const page = await listRunRows(trx, { ...filter, tenant: caller.tenant });
    return { page, seen: await shownOf(trx, page.rows, 'short') };
  });
  const items = page.rows.map((row) => {
    const { row: shown, cut } = withPreviews(row, ['input', 'output'], `/api/v1/runs/${encodeURIComponent(row.id)}`);
    const { pending = [], integrity = [] } = seen.get(row.id) ?? {};
    return { ...shownRun(shown, pending, integrity), cut };
  });
  return { items, nextCursor: cursorAfter(page) };
}

export async function listEvents(
  parts: Parts,
  id: string,
  options: { readonly after: number; readonly limit: number },
  caller: Caller,
): Promise<Page<RunEvent>> {
  await statusOf(parts, id, caller);
  const { rows: items, more } = await readEvents(parts.world.knex, id, options.after, options.limit);
  return { items, nextCursor: more ? String(items.at(-1)?.seq ?? 0) : null };
}

interface StreamOptions {
  readonly after: number;
  readonly signal: AbortSignal;
}

export async function* streamEvents(
  parts: Parts,
  id: string,
  options: StreamOptions,
  caller: Caller,
): AsyncIterable<RunEvent> {
  for await (const one of follow(parts, id, options, caller, false)) if ('seq' in one) yield one;
}

export const streamRun = (
  parts: Parts,
  id: string,
  options: StreamOptions,
  caller: Caller,
): AsyncIterable<RunEvent | RunDelta> => follow(parts, id, options, caller, true);

/** Events from the database, and between them, when wanted, what models say while they answer. */
async function* follow(
  parts: Parts,
  id: string,
  options: StreamOptions,
  caller: Caller,
  wantsDeltas: boolean,
): AsyncIterable<RunEvent | RunDelta> {
  let { after } = options;
  const { signal } = options;
  const watch = parts.changes.watch(id, 'log');
  let deltas: ReturnType<Parts['deltas']['open']> | null = null;
  try {
    for (;;) {
      // The status is read first: what a run that is over has said is all in its log.
      const status = await statusOf(parts, id, caller);
      if (wantsDeltas && !isOver(status)) deltas ??= parts.deltas.open(id, () => watch.poke());
      const events = await readEvents(parts.world.knex, id, after, BATCH);
      for (const event of events.rows) {
        const turn = answeredTurn(event);
        if (deltas !== null && turn !== null) {
          // What was said before the answer was there goes before it; what comes later is late.
          for (const delta of deltas.feed.take()) yield delta;
          deltas.feed.settle(turn);
        }
        if (signal.aborted) return;
        after = event.seq;
        yield event;
      }
      if (signal.aborted) return;
      if (events.more) continue;
      if (isOver(status)) return;
      yield* untilChanged(watch, deltas?.feed ?? null, lookAgainMs(parts, id), signal);
    }
  } finally {
    deltas?.close();
    watch.close();
  }
}

const answered = z.object({ kind: z.enum(['model.responded', 'model.failed']), data: z.object({ turn: z.int() }) });

/** The turn whose answer, or failure, an event is. */
const answeredTurn = (event: RunEvent): number | null => answered.safeParse(event).data?.data.turn ?? null;

/** Gives deltas as they come, until the log may have more. */
async function* untilChanged(
  watch: Watch,
  feed: DeltaFeed | null,
  atMostMs: number,
  signal: AbortSignal,
): AsyncIterable<RunDelta> {
  const until = performance.now() + atMostMs;
  while (!signal.aborted && !watch.takeChange() && performance.now() < until) {
    const waiting = feed?.take() ?? [];
    if (waiting.length === 0 && (await watch.changed(until - performance.now(), signal))) return;
    for (const delta of waiting) {
      if (signal.aborted) return;
      yield delta;
    }
  }
}
