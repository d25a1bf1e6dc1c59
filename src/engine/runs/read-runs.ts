import type { Knex } from 'knex';
import { z } from 'zod';
import type { Caller } from '../../core/caller.js';
import { HoldfastError } from '../../core/errors/errors.js';
import type { RunDelta } from '../../core/log/delta.js';
import type { RunEvent } from '../../core/log/event.js';
import type { CutValues, Page, PageOf } from '../../core/page.js';
import { isOver, type ListedRun, type RunStatus, type RunView } from '../../core/runs/run.js';
import { type LiftedWork, type LiftWork, SET_ASIDE_MOST, type SetAsideList } from '../../core/runs/set-aside.js';
import { shownBeginning, withoutKnownSecrets } from '../../models/secrets/known-secrets.js';
import { atOneMoment } from '../../storage/database/transactions.js';
import { shownRun } from '../../storage/integrity/legible-rows.js';
import { shownOf } from '../../storage/integrity/shown-rows.js';
import { readEvents } from '../../storage/log/read-events.js';
import { forgetDeaths, workSetAside } from '../../storage/queue/work-notes.js';
import { type Cut, PREVIEW_BYTES } from '../../storage/runs/page-rows.js';
import { cursorAfter, type ListedRunRow, listRunRows, type RunFilter } from '../../storage/runs/run-list.js';
import { findRun, findStatus } from '../../storage/runs/runs.js';
import type { EngineContext } from '../engine-context.js';
import type { Watch } from '../log/changes.js';
import type { DeltaFeed } from '../streaming/delta-feed.js';

/** So much of a long value is shown, in characters. */
const SHOWN_CHARS = 1000;

/** A row of a list whose long columns hold JSON: those that are cut become a JSON text, the beginning of what they say. */
function withPreviews<Column extends string, Row extends LongRow<Column>>(
  row: Row,
  columns: readonly Column[],
  whole: string,
): { readonly row: Row; readonly cut: CutValues } {
  const long: LongRow<Column> = row;
  const fields = columns.filter((column) => long[`${column}_cut`]);
  if (fields.length === 0) return { row, cut: null };
  const shown = fields.map((field) => [field, JSON.stringify(beginningOf(long[field] ?? ''))]);
  return { row: { ...row, ...Object.fromEntries(shown) }, cut: { fields, whole } };
}

type LongRow<Column extends string> = { readonly [C in Column]: string | null } & Cut<Column>;

/** Whether a value is shown in part in lists. */
export const isLong = (json: string): boolean => Buffer.byteLength(json) > PREVIEW_BYTES;

/** The whole text, or so much of it. What is cut ends without half a character, and without what may be the beginning of a secret. */
export const beginningOf = (text: string, chars = SHOWN_CHARS): string =>
  text.length <= chars
    ? withoutKnownSecrets(text)
    : shownBeginning(text.slice(0, chars)).replace(/[\uD800-\uDBFF]$/, '');

/**
 * How often one looks again for what another process did; where there is none, or where the run is at work in this one, only
 * for what was missed.
 */
const lookAgainMs = (context: EngineContext, runId: string): number =>
  context.database.kind === 'pglite' || context.running.has(runId) ? 5000 : 250;
const BATCH = 500;

/** Has other processes tell what they do with a run, unless it is at work in this one; null: it is. */
const followed = ({ running, news }: EngineContext, runId: string): (() => void) | null =>
  running.has(runId) ? null : news.follow(runId);

const unknown = (id: string): HoldfastError =>
  new HoldfastError('run_unknown', `There is no run ${JSON.stringify(id)}.`);

/** Of a run that is looked at again and again: what it was given may be large. */
export async function statusOf(context: EngineContext, id: string, caller: Caller): Promise<RunStatus> {
  const status = await findStatus(context.stepContext.knex, caller.tenant, id);
  if (status === undefined) throw unknown(id);
  return status;
}

/** With what of it is not what its log says: row and log are read as of one moment. */
const viewOf = (context: EngineContext, id: string, caller: Caller): Promise<RunView> =>
  atOneMoment(context.stepContext.knex, async (trx) => {
    const row = await findRun(trx, caller.tenant, id);
    if (row === undefined) throw unknown(id);
    const { pending = [], integrity = [] } = (await shownOf(trx, [row], 'whole')).get(id) ?? {};
    return shownRun(row, pending, integrity);
  });

const isSettled = (status: RunStatus): boolean => status === 'paused' || isOver(status);

export async function getRun(
  context: EngineContext,
  id: string,
  caller: Caller,
  options: { readonly waitMs?: number; readonly signal?: AbortSignal } = {},
): Promise<RunView> {
  const until = performance.now() + (options.waitMs ?? 0);
  const watch = context.changes.watch(id, 'run');
  let unfollow: (() => void) | null = null;
  try {
    for (;;) {
      const status = await statusOf(context, id, caller);
      const left = until - performance.now();
      const isLast = left <= 0 || options.signal?.aborted === true;
      if (isSettled(status) || isLast) {
        const view = await viewOf(context, id, caller);
        // It may have gone on since.
        if (isLast || isSettled(view.status)) return view;
      }
      unfollow ??= followed(context, id);
      await watch.changed(Math.min(left, lookAgainMs(context, id)), options.signal);
    }
  } finally {
    unfollow?.();
    watch.close();
  }
}

/** What narrows a list of runs. `parent`: runs that calls of this run started. `subject`: runs that are about it, and are not erased. */
export type ListFilter = Omit<RunFilter, 'tenant'>;

export async function listRuns(
  context: EngineContext,
  filter: ListFilter & PageOf,
  caller: Caller,
): Promise<Page<ListedRun>> {
  return atOneMoment(context.stepContext.knex, async (trx) => {
    const page = await listRunRows(trx, { ...filter, tenant: caller.tenant });
    return { items: await listedOf(trx, page.rows), nextCursor: cursorAfter(page) };
  });
}

/** Rows of a list as they are shown, with what of each is not what its log says. */
export async function listedOf(trx: Knex.Transaction, rows: readonly ListedRunRow[]): Promise<ListedRun[]> {
  const seen = await shownOf(trx, rows, 'short');
  return rows.map((row) => {
    const { row: shown, cut } = withPreviews(row, ['input', 'output'], `/api/v1/runs/${encodeURIComponent(row.id)}`);
    const { pending = [], integrity = [] } = seen.get(row.id) ?? {};
    return { ...shownRun(shown, pending, integrity), cut };
  });
}

interface StreamOptions {
  readonly after: number;
  readonly signal: AbortSignal;
}

export async function* streamEvents(
  context: EngineContext,
  id: string,
  options: StreamOptions,
  caller: Caller,
): AsyncIterable<RunEvent> {
  for await (const one of follow(context, id, options, caller, false)) if ('seq' in one) yield one;
}

export const streamRun = (
  context: EngineContext,
  id: string,
  options: StreamOptions,
  caller: Caller,
): AsyncIterable<RunEvent | RunDelta> => follow(context, id, options, caller, true);

/** Events from the database, and between them, when wanted, what models say while they answer. */
async function* follow(
  context: EngineContext,
  id: string,
  options: StreamOptions,
  caller: Caller,
  wantsDeltas: boolean,
): AsyncIterable<RunEvent | RunDelta> {
  let { after } = options;
  const { signal } = options;
  const watch = context.changes.watch(id, 'log');
  let deltas: ReturnType<EngineContext['deltas']['open']> | null = null;
  let unfollow: (() => void) | null = null;
  try {
    for (;;) {
      // The status is read first: what a run that is over has said is all in its log.
      const status = await statusOf(context, id, caller);
      if (wantsDeltas && !isOver(status)) deltas ??= context.deltas.open(id, () => watch.poke());
      const events = await readEvents(context.stepContext.knex, id, after, BATCH);
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
      unfollow ??= followed(context, id);
      yield* untilChanged(watch, deltas?.feed ?? null, lookAgainMs(context, id), signal);
    }
  } finally {
    unfollow?.();
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

export async function listSetAside({ stepContext: { knex, crashLimit } }: EngineContext): Promise<SetAsideList> {
  const found = await workSetAside(knex, { crashLimit, tenant: null, limit: SET_ASIDE_MOST });
  return { items: found.map(({ diedAt, ...rest }) => ({ ...rest, diedAt: diedAt.toISOString() })) };
}

export const liftWork = async ({ stepContext }: EngineContext, of: LiftWork): Promise<LiftedWork> => ({
  forgotten: await forgetDeaths(stepContext.knex, of),
});
