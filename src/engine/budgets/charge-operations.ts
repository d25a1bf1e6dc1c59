import type { ChargeView, SpendFilter, SpendView } from '../../core/budgets/charge.js';
import type { Caller } from '../../core/caller.js';
import { HoldfastError } from '../../core/errors/errors.js';
import type { Page, PageOf } from '../../core/page.js';
import { chargeViewOf, listChargeRows, readSpend } from '../../storage/budgets/charges.js';
import { legibleRows } from '../../storage/database/legible-rows.js';
import { findRun } from '../../storage/runs/runs.js';
import type { EngineContext } from '../engine-context.js';

/** What the model calls of a run cost, in the order of its turns. Throws `run_unknown`. */
export async function listCharges(
  context: EngineContext,
  runId: string,
  { after, limit }: { readonly after: number; readonly limit: number },
  caller: Caller,
): Promise<Page<ChargeView>> {
  const { knex } = context.stepContext;
  const run = await findRun(knex, caller.tenant, runId);
  if (run === undefined) throw new HoldfastError('run_unknown', `There is no run ${JSON.stringify(runId)}.`);
  const { rows, more } = await listChargeRows(knex, run.id, { after, limit });
  const shown = legibleRows(rows, ({ turn, attempt }) => `${turn}.${attempt}`, chargeViewOf);
  return { ...shown, nextCursor: more ? String(after + rows.length) : null };
}

/** What the caller's tenant has spent, by day, agent or model. Throws `invalid_request` for a cursor that no page gave. */
export async function listSpend(
  context: EngineContext,
  { limit, cursor, ...filter }: SpendFilter & PageOf,
  caller: Caller,
): Promise<Page<SpendView>> {
  const after = cursor === undefined ? null : Buffer.from(cursor, 'base64url').toString('utf8');
  if (after !== null && (after === '' || after.includes('\0'))) {
    throw new HoldfastError('invalid_request', 'The cursor is not one that a list of this server gave.', {
      fields: [{ pointer: '/cursor', detail: 'use nextCursor of the page before' }],
    });
  }
  const of = { ...filter, tenant: caller.tenant };
  const { rows: items, more } = await readSpend(context.stepContext.knex, of, { after, limit });
  return { items, nextCursor: more ? Buffer.from(items.at(-1)?.name ?? '').toString('base64url') : null };
}
