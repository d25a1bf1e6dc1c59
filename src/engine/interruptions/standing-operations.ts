import { isoNow } from '../../../steps/context.js';
import type { Caller } from '../../core/caller.js';
import { HoldfastError } from '../../core/errors/errors.js';
import type { StandingDecisionView } from '../../core/interruptions/standing.js';
import type { EventDraft } from '../../core/log/event.js';
import type { Page, PageOf } from '../../core/page.js';
import { isOver } from '../../core/runs/run.js';
import { legibleRows } from '../../storage/database/legible-rows.js';
import {
  findStanding,
  listStandingRows,
  revokeStanding,
  standingViewOf,
} from '../../storage/interruptions/standing-decisions.js';
import { appendEvents } from '../../storage/log/events.js';
import type { RunRow } from '../../storage/runs/run-row.js';
import { findRun, lockRun } from '../../storage/runs/runs.js';
import type { EngineContext } from '../engine-context.js';

async function runOf(context: EngineContext, id: string, caller: Caller): Promise<RunRow> {
  const run = await findRun(context.stepContext.knex, caller.tenant, id);
  if (run === undefined) throw new HoldfastError('run_unknown', `There is no run ${JSON.stringify(id)}.`);
  return run;
}

/** The standing decisions of a run, oldest first, revoked ones too. Throws `run_unknown`. */
export async function listStandingDecisions(
  context: EngineContext,
  runId: string,
  { limit, cursor }: PageOf,
  caller: Caller,
): Promise<Page<StandingDecisionView>> {
  const run = await runOf(context, runId, caller);
  const after = cursor === undefined ? {} : { after: cursor };
  const { rows, more } = await listStandingRows(context.stepContext.knex, run.id, { ...after, limit });
  const shown = legibleRows(rows, ({ id }) => id, standingViewOf);
  return { ...shown, nextCursor: more ? (rows.at(-1)?.id ?? null) : null };
}

/**
 * Revokes a standing decision: from the next segment on calls ask again. Revoking it again gives the same answer. Throws
 * `run_unknown`, `standing_decision_unknown`, `run_over`.
 */
export async function revokeStandingDecision(
  context: EngineContext,
  runId: string,
  id: string,
  caller: Caller,
): Promise<StandingDecisionView> {
  const { id: known } = await runOf(context, runId, caller);
  const view = await context.stepContext.knex.transaction(async (trx) => {
    const run = await lockRun(trx, known);
    const before = await findStanding(trx, known, id);
    if (run === undefined || before === undefined) {
      throw new HoldfastError(
        'standing_decision_unknown',
        `Run ${known} has no standing decision ${JSON.stringify(id)}.`,
      );
    }
    if (before.revokedAt !== null) return before;
    if (isOver(run.status)) throw new HoldfastError('run_over', `Run ${known} is ${run.status}.`);
    await revokeStanding(trx, known, id, caller.actor);
    const revoked: EventDraft = {
      key: `standing:${id}:revoked`,
      parentKey: `standing:${id}`,
      kind: 'standing_decision.revoked',
      data: { id, actor: caller.actor },
    };
    await appendEvents(trx, known, [revoked], { at: isoNow(context.stepContext), worker: null });
    return (await findStanding(trx, known, id)) ?? before;
  });
  context.changes.announce(known);
  return view;
}
