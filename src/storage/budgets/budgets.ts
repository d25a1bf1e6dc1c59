import type { Knex } from 'knex';
import type { AppliedBudget } from '../../core/budgets/budget.js';
import type { Charge, ChargeState } from '../../core/budgets/charge.js';
import type { UsageParts } from '../../core/budgets/price.js';
import { TOLD_PERCENTS } from '../../core/log/system-event.js';
import { CHARGE_COLUMNS, chargeRowsOf } from './charges.js';

const usd = (nanos: string): string => `trim_scale(${nanos}::numeric * 0.000000001)::text`;

/**
 * A part of the statement that takes from budgets, under the locks of their rows: tells which of them comes to a share of its limit by
 * this, or has no room for it, once for each share and limit. It has the CTEs `held`, `wanted` and `verdict`.
 */
const thresholdsTold = (runId: string): string => `
  insert into holdfast.system_events (tenant, kind, key, run_id, data)
  select w.tenant, 'cost.threshold_reached', 'cost:' || h.id || ':' || h.limit_nano_usd || ':' || s.percent, ${runId},
         json_build_object('budget', h.id, 'scope', w.scope, 'name', w.name, 'day', h.day, 'percent', s.percent,
           'currentUsd', ${usd('(h.nano_usd + case when v.fits then v.amount else 0 end)')},
           'thresholdUsd', ${usd('div(h.limit_nano_usd::numeric * s.percent, 100)')},
           'limitUsd', ${usd('h.limit_nano_usd')})::text
    from held h join wanted w on w.id = h.id, verdict v, (values ${TOLD_PERCENTS.map((percent) => `(${percent})`).join(', ')}) s(percent)
   where v.found and not v.had and case
         when v.fits then h.nano_usd::numeric * 100 < h.limit_nano_usd::numeric * s.percent
                      and (h.nano_usd::numeric + v.amount) * 100 >= h.limit_nano_usd::numeric * s.percent
         else s.percent = 100 and h.nano_usd::numeric + v.amount > h.limit_nano_usd end
  on conflict do nothing`;

/** Which attempt a reservation is for: writing it again writes nothing. */
export type AttemptKey = { readonly runId: string } & Pick<Charge, 'turn' | 'execution' | 'attempt'>;

const IS_ATTEMPT = 'run_id = ? and turn = ? and execution = ? and attempt = ?';
const keyOf = ({ runId, turn, execution, attempt }: AttemptKey) => [runId, turn, execution, attempt];

/** The budget that has no room, as it was when it was asked. */
export interface FullBudget {
  readonly id: string;
  readonly base: string;
  readonly day: string | null;
  readonly limit: bigint;
  readonly spent: bigint;
}

type Reserved =
  | { readonly type: 'reserved' }
  /** The run is over, or another process has the worker id. */
  | { readonly type: 'lost' }
  | { readonly type: 'full'; readonly budget: FullBudget };

interface FullRow {
  readonly id: string;
  readonly base: string;
  readonly day: string | null;
  readonly nano_usd: string;
  readonly limit_nano_usd: string;
}

const WANTED = `wanted as (
    select case when w.daily then w.base || ':' || d.day else w.base end as id, w.base, w.tenant, w.scope, w.name,
           case when w.daily then d.day end as day, w.limit_nano_usd
      from json_to_recordset(?::json)
             as w(base text, tenant text, scope text, name text, daily boolean, limit_nano_usd bigint),
           (select to_char(now() at time zone 'UTC', 'YYYY-MM-DD') as day) d)`;

const wantedOf = (tenant: string, budgets: readonly AppliedBudget[]): string =>
  JSON.stringify(
    budgets.map(({ id, scope, name, daily, limit }) => ({
      ...{ base: id, tenant: scope === 'run' || scope === 'tenant' ? tenant : 'default', scope, name, daily },
      limit_nano_usd: String(limit),
    })),
  );

/**
 * Takes the amount of a charge from all of these budgets, or from none where one has no room, in one statement under the locks of
 * their rows. The charge is written with it. Under the key of the attempt: a second time nothing is taken. While this statement works
 * the run does not end and its worker is not taken over, so that the one that ends the run finds the charge.
 */
export async function reserve(
  db: Knex,
  {
    runId,
    tenant,
    charge,
    budgets,
    worker,
  }: {
    readonly runId: string;
    readonly tenant: string;
    readonly charge: Charge;
    readonly budgets: readonly AppliedBudget[];
    readonly worker: { readonly id: string; readonly epoch: number };
  },
): Promise<Reserved> {
  const wanted = wantedOf(tenant, budgets);
  const amount = charge.nanos ?? '0';
  const row = JSON.stringify(chargeRowsOf(runId, tenant, [charge]));
  for (;;) {
    const { rows }: { rows: { alive: boolean; found: boolean; full: readonly FullRow[] | null }[] } = await db.raw(
      `with ${WANTED},
         run as (select from holdfast.runs where id = ? and status not in ('completed', 'failed', 'cancelled') for share),
         owner as (select from holdfast.workers where id = ? and epoch = ? and exists (select from run) for key share),
         had as (select from holdfast.charges where ${IS_ATTEMPT}),
         held as (
           select b.id, w.base, b.day, b.nano_usd, greatest(b.limit_nano_usd, w.limit_nano_usd) as limit_nano_usd
             from holdfast.budgets b join wanted w on w.id = b.id
            where exists (select from owner)
            order by b.id for no key update of b),
         verdict as (
           select (select count(*) from held) = (select count(*) from wanted) as found,
                  exists (select from owner) as alive, exists (select from had) as had,
                  not exists (select from held where nano_usd + ?::bigint > limit_nano_usd) as fits, ?::bigint as amount),
         taken as (
           update holdfast.budgets b set nano_usd = b.nano_usd + ?::bigint
             from held, verdict v where b.id = held.id and v.found and v.fits and not v.had returning b.id),
         charged as (
           insert into holdfast.charges (${CHARGE_COLUMNS}, reserved_nano_usd, budgets)
           select ${CHARGE_COLUMNS}, nano_usd, (select json_agg(id)::text from wanted)
             from json_populate_recordset(null::holdfast.charges, ?::json), verdict v
            where v.found and v.fits and not v.had),
         told as (${thresholdsTold('?::text')})
       select v.alive, v.found or v.had as found, case when v.fits or v.had then null else
                (select json_agg(json_build_object('id', id, 'base', base, 'day', day,
                          'nano_usd', nano_usd::text, 'limit_nano_usd', limit_nano_usd::text))
                   from held where nano_usd + ?::bigint > limit_nano_usd) end as full
         from verdict v`,
      [
        wanted,
        runId,
        worker.id,
        worker.epoch,
        ...keyOf({ runId, ...charge }),
        amount,
        amount,
        amount,
        row,
        runId,
        amount,
      ],
    );
    const [said] = rows;
    if (said?.alive !== true) return { type: 'lost' };
    if (said.found) return reservedOf(said.full, budgets);
    // A budget that nothing was taken from yet, or one of a day that has just begun.
    await db.raw(
      `with ${WANTED} insert into holdfast.budgets (id, tenant, scope, name, day)
       select id, tenant, scope, name, day from wanted order by id on conflict do nothing`,
      [wanted],
    );
  }
}

/** The first of those that have no room, in the order in which they apply. */
function reservedOf(full: readonly FullRow[] | null, budgets: readonly AppliedBudget[]): Reserved {
  const [first] = budgets.flatMap(({ id }) => full?.filter(({ base }) => base === id) ?? []);
  if (first === undefined) return { type: 'reserved' };
  const { id, base, day, nano_usd: spent, limit_nano_usd: limit } = first;
  return { type: 'full', budget: { id, base, day, limit: BigInt(limit), spent: BigInt(spent) } };
}

/** How a reserved attempt ended. `nanos` null: its estimate stands. */
export interface Settlement {
  readonly state: ChargeState;
  readonly nanos: bigint | null;
  readonly usage: UsageParts | null;
}

/** Puts what an attempt cost in the place of what was reserved for it, once, in one statement. */
export async function settle(db: Knex, key: AttemptKey, { state, nanos, usage }: Settlement): Promise<void> {
  await db.raw(
    `with charge as (
       update holdfast.charges set state = ?, nano_usd = coalesce(?::bigint, reserved_nano_usd), input_tokens = ?,
              cached_input_tokens = ?, cache_write_tokens = ?, output_tokens = ?, reasoning_tokens = ?
        where ${IS_ATTEMPT} and state = 'reserved'
       returning nano_usd - reserved_nano_usd as difference, budgets),
     held as (
       select b.id from holdfast.budgets b
        where b.id in (select json_array_elements_text(budgets::json) from charge)
        order by b.id for no key update of b)
     update holdfast.budgets b set nano_usd = b.nano_usd + charge.difference
       from held, charge where b.id = held.id`,
    [
      ...[state, nanos === null ? null : String(nanos)],
      ...[usage?.inputTokens ?? null, usage?.cachedInputTokens ?? null, usage?.cacheWriteTokens ?? null],
      ...[usage?.outputTokens ?? null, usage?.reasoningTokens ?? null],
      ...keyOf(key),
    ],
  );
}

/** Raises the limit of a budget, of this day if it is a daily one. It is never lowered. */
export async function raiseLimit(trx: Knex.Transaction, id: string, limit: bigint): Promise<void> {
  await trx.raw('update holdfast.budgets set limit_nano_usd = greatest(limit_nano_usd, ?::bigint) where id = ?', [
    String(limit),
    id,
  ]);
}

/** What attempts of runs cost that no one settles any more is not known: what was reserved for them stands. */
export async function assumeLost(trx: Knex.Transaction, runIds: readonly string[]): Promise<void> {
  const reserved = trx('holdfast.charges')
    .whereRaw('run_id = any(?)', [[...runIds]])
    .where({ state: 'reserved' });
  await reserved.update({ state: 'assumed' });
}
