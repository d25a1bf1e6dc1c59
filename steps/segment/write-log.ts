import type { EventDraft } from '../../src/core/log/event.js';
import { appendEvents, extendLog } from '../../src/storage/log/events.js';
import type { LogTail } from '../../src/storage/log/write-events.js';
import { isoNow, type StepContext } from '../context.js';
import { transact, withDatabaseRetry } from '../database-retry.js';

/** Where the events of one execution of a segment go, batch after batch in their order. */
export interface LogWriter {
  readonly write: (drafts: readonly EventDraft[]) => Promise<void>;
  /** The end of the log, as far as this execution knows it; null: it does not. */
  readonly tail: () => LogTail | null;
}

/**
 * Writes to the database. The first batches find out what an execution before this one has written; from the first new event
 * on this execution knows the end of the log, and a batch is one statement, until someone else writes.
 */
export function logWriter(ctx: StepContext, runId: string, segment: number): LogWriter {
  let tail: LogTail | null = null;
  return {
    write: async (drafts) => {
      const context = { at: isoNow(ctx), worker: ctx.worker.id, segment };
      const known = tail;
      tail = null;
      if (known !== null) tail = await withDatabaseRetry(() => extendLog(ctx.knex, known, drafts, context));
      tail ??= await transact(ctx, (trx) => appendEvents(trx, runId, drafts, context));
      ctx.changed(runId, 'log');
    },
    tail: () => tail,
  };
}

/** Writes what is recorded already nowhere. */
export const NO_WRITER: LogWriter = { write: () => Promise.resolve(), tail: () => null };
