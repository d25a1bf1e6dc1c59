import type { Knex } from 'knex';
import { settlementByTime } from '../../../steps/interruptions/settle.js';
import { type SettlementBatch, settleAndResume } from '../../../steps/interruptions/settle-and-resume.js';
import { databaseTrouble } from '../../storage/database/database-trouble.js';
import { falseInterruptions } from '../../storage/integrity/shown-rows.js';
import type { InterruptionRow } from '../../storage/interruptions/interruption-rows.js';
import { decisionsOf, interruptionsByIds, isPast } from '../../storage/interruptions/interruptions.js';
import { correctTimers, type DueTimer, dropTimers, isAnyDue, takeDue } from '../../storage/interruptions/timers.js';
import { lockRun } from '../../storage/runs/runs.js';
import type { EngineContext } from '../engine-context.js';

type Due = Pick<DueTimer, 'runId' | 'target'>;

/** Timers that one transaction settles. */
const AT_ONCE = 100;
/** Transactions of one worker at a time; workers take from each other what is due. */
const LANES = 3;
/** What could not be settled is left alone for so long, so that it holds up nothing behind it. */
const AGAIN_AFTER_MS = 10_000;
/** Beyond it, what could not be settled is tried again at once. */
const FAILED_MAX = 1_000;

/**
 * Settles, whenever it is called, all deadlines and timers that are due: many in one transaction, in several at once, beside other
 * workers that do the same. One that fails is tried again later, and holds up no other.
 */
export function settleDueDeadlines(context: EngineContext): (isStopping: () => boolean) => Promise<void> {
  const { stepContext } = context;
  const failed = new Map<string, number>();

  const postpone = (id: string): void => {
    if (failed.size < FAILED_MAX) failed.set(id, performance.now() + AGAIN_AFTER_MS);
  };

  const take = (trx: Knex.Transaction): Promise<readonly DueTimer[]> =>
    takeDue(trx, { now: new Date(stepContext.now()), except: [...failed.keys()], limit: AT_ONCE, of: null });

  const oneByOne = async (timers: readonly DueTimer[]): Promise<void> => {
    for (const { id, runId, target } of timers) {
      await expire(context, runId, target).catch((error: unknown) => {
        if (databaseTrouble(error) !== null) throw error;
        postpone(id);
        notExpired(context, { runId, error });
      });
    }
  };

  const lane = async (isStopping: () => boolean): Promise<void> => {
    for (let more = true; more && !isStopping(); ) {
      let taken: readonly DueTimer[] = [];
      try {
        await settleAndResume(stepContext, async (settling) => {
          const { trx } = settling;
          taken = await take(trx);
          const kept = await settleTaken(context, settling, taken);
          // One whose interruption was settled in another way is over, too.
          await dropTimers(
            trx,
            taken.flatMap(({ id, target }) => (kept.has(target) ? [] : [id])),
          );
          for (const { id, target } of taken) if (kept.has(target)) postpone(id);
        });
      } catch (error) {
        if (taken.length === 0) throw error;
        await oneByOne(taken);
      }
      more = taken.length === AT_ONCE;
    }
  };

  return async (isStopping) => {
    // An idle worker asks one small question.
    if (!(await isAnyDue(stepContext.knex, new Date(stepContext.now())))) return;
    const now = performance.now();
    for (const [id, again] of failed) if (again <= now) failed.delete(id);
    await Promise.all(Array.from({ length: context.database.kind === 'pglite' ? 1 : LANES }, () => lane(isStopping)));
  };
}

/**
 * Settles interruptions whose time has come, under the locks of their runs. A timer can be changed in the database, so an interruption
 * is settled only if its own row says that its time is over, and that row says what the log says. Returns those that keep their timers.
 */
async function settleTaken(
  context: EngineContext,
  settling: SettlementBatch,
  due: readonly Due[],
): Promise<ReadonlySet<string>> {
  if (due.length === 0) return new Set();
  const { trx } = settling;
  const rows = await interruptionsByIds(
    trx,
    due.map(({ target }) => target),
  );
  const pending = rows.filter(({ status }) => status === 'pending');
  const past = pending.filter((row) => isPast(row, context.stepContext.now()));
  const ids = past.map(({ id }) => id);
  const changed = await falseInterruptions(trx, past, await decisionsOf(trx, ids), 'short');
  const isChanged = ({ id }: InterruptionRow): boolean => (changed.get(id) ?? []).length > 0;
  for (const row of past.filter(isChanged))
    notExpired(context, { runId: row.run_id, error: (changed.get(row.id) ?? []).map(({ what }) => what).join('; ') });
  const early = pending.filter((row) => !past.includes(row));
  await correctTimers(trx, early);
  const settlements = past.filter((row) => !isChanged(row)).map(settlementByTime);
  await settling.settleEach(
    settlements,
    due.map(({ runId }) => runId),
  );
  return new Set([...past.filter(isChanged), ...early].map(({ id }) => id));
}

/**
 * Settles those of these interruptions whose time is over, for the caller that is about to show them: what no one may decide any more is not shown
 * as pending. False: there was none, or someone else settles it in this moment.
 */
export async function settlePast(context: EngineContext, shown: readonly InterruptionRow[]): Promise<boolean> {
  const { stepContext } = context;
  const of = shown.filter((row) => row.status === 'pending' && isPast(row, stepContext.now())).map(({ id }) => id);
  if (of.length === 0) return false;
  let taken: readonly DueTimer[] = [];
  try {
    await settleAndResume(stepContext, async (settling) => {
      taken = await takeDue(settling.trx, { now: new Date(stepContext.now()), except: [], limit: of.length, of });
      await settleTaken(context, settling, taken);
    });
  } catch (error) {
    if (databaseTrouble(error) !== null) throw error;
    // One whose row cannot be read is shown as it is; the watch tries each by itself.
    notExpired(context, { error, count: of.length });
    return false;
  }
  return taken.length > 0;
}

const notExpired = (
  context: EngineContext,
  { error, ...of }: { readonly error: unknown; readonly [more: string]: unknown },
): void =>
  context.log.warn(
    { component: 'worker', event: 'interruption_not_expired', ...of, error: String(error) },
    'an interruption could not be expired',
  );

/** Settles one interruption whose time has come. Does nothing when someone decided before. */
export async function expire(context: EngineContext, runId: string, id: string): Promise<void> {
  await settleAndResume(context.stepContext, async (settling) => {
    settling.runIds.add(runId);
    if ((await lockRun(settling.trx, runId)) === undefined) return;
    await settleTaken(context, settling, [{ runId, target: id }]);
  });
}
