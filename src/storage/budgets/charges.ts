import type { Knex } from 'knex';
import type { SpendFilter, SpendView } from '../../core/budgets/charge.js';
import { CHARGE_STATES, type Charge, type ChargeState, type ChargeView, priceName } from '../../core/budgets/charge.js';
import { groupedBy } from '../../core/grouped.js';
import { usdOf, usdOrNull } from '../../core/money.js';
import { viewOfRow } from '../database/legible-rows.js';
import { changedCell } from '../database/stored-json.js';
import { type PageRows, rowsOfPage } from '../runs/page-rows.js';

/** A row of `holdfast.charges` as the driver gives it: int8 as text. */
export interface ChargeRow {
  run_id: string;
  turn: number;
  execution: string;
  attempt: number;
  tenant: string;
  agent: string;
  model: string;
  input_tokens: string | null;
  cached_input_tokens: string | null;
  cache_write_tokens: string | null;
  output_tokens: string | null;
  reasoning_tokens: string | null;
  nano_usd: string | null;
  price_source: string | null;
  price_version: string | null;
  state: ChargeState;
  day: string;
  charged_at: Date;
}

const COLUMNS = [
  ...(['run_id', 'turn', 'execution', 'attempt', 'tenant', 'agent', 'model'] as const),
  ...(['input_tokens', 'cached_input_tokens', 'cache_write_tokens', 'output_tokens', 'reasoning_tokens'] as const),
  ...(['nano_usd', 'price_source', 'price_version', 'state'] as const),
] as const;

/** The columns of a charge that is written; its time is that of the database. */
export const CHARGE_COLUMNS = COLUMNS.join(', ');

/** A charge on its way into the database, as JSON gives it. */
export type NewChargeRow = { readonly [column in (typeof COLUMNS)[number]]: string | number | null };

const charges = (db: Knex) => db<ChargeRow>('holdfast.charges');

export const chargeRowsOf = (runId: string, tenant: string, made: readonly Charge[]): readonly NewChargeRow[] =>
  made.map(({ turn, execution, attempt, agent, model, usage, nanos, price, state }) => ({
    ...{ run_id: runId, turn, execution, attempt, tenant, agent, model },
    input_tokens: usage?.inputTokens ?? null,
    cached_input_tokens: usage?.cachedInputTokens ?? null,
    cache_write_tokens: usage?.cacheWriteTokens ?? null,
    output_tokens: usage?.outputTokens ?? null,
    reasoning_tokens: usage?.reasoningTokens ?? null,
    ...{ nano_usd: nanos, price_source: price?.source ?? null, price_version: price?.version ?? null, state },
  }));

/**
 * Writes a charge that goes with no event. Under the key of its attempt: a second time nothing is written. Nor is one of a run that is
 * over: the one that ended it has counted what it cost.
 */
export async function writeCharge(db: Knex, runId: string, tenant: string, charge: Charge): Promise<void> {
  await db.raw(
    `with run as (select from holdfast.runs where id = ? and status not in ('completed', 'failed', 'cancelled') for share)
     insert into holdfast.charges (${CHARGE_COLUMNS})
     select ${CHARGE_COLUMNS} from json_populate_recordset(null::holdfast.charges, ?::json)
      where exists (select from run) on conflict do nothing`,
    [runId, JSON.stringify(chargeRowsOf(runId, tenant, [charge]))],
  );
}

/** What a run has cost, for a statement that writes it: what was not known once stays unknown. */
export const costOfEach = (trx: Knex.Transaction) =>
  trx.raw(
    `case when cost_nano_usd is null then null else
      (select case when count(*) = count(nano_usd) then coalesce(sum(nano_usd), 0)::bigint end
         from holdfast.charges where run_id = runs.id) end`,
  ) as unknown as string;

/** In the order of its turns. */
const ORDER = ['turn', 'charged_at', 'execution', 'attempt'] as const;
const BYTES = 'octet_length(agent) + octet_length(model) + coalesce(octet_length(price_version), 0)';

/** The charges of a run in the order of its turns, after a number of them. */
export async function listChargeRows(
  db: Knex,
  runId: string,
  { after, limit }: { readonly after: number; readonly limit: number },
): Promise<PageRows<ChargeRow>> {
  const query = charges(db).where({ run_id: runId }).offset(after).select('*');
  const order = ORDER.map((column) => ({ column, order: 'asc' as const }));
  return rowsOfPage<ChargeRow>(db, query, { order, bytes: BYTES, limit });
}

/** Charges of a run, by turn. */
export type TurnCharges = ReadonlyMap<number, readonly ChargeView[]>;

/** All charges of runs that have some, by run. Each is read by itself: one that cannot be read throws `row_changed`. */
export async function chargesOfRuns(
  db: Knex,
  runIds: readonly string[],
): Promise<ReadonlyMap<string, () => TurnCharges>> {
  const rows: ChargeRow[] = await charges(db)
    .whereRaw('run_id = any(?)', [[...runIds]])
    .orderBy(['run_id', ...ORDER]);
  return new Map([...groupedBy(rows, (row) => row.run_id)].map(([id, own]) => [id, () => byTurn(own)]));
}

const byTurn = (rows: readonly ChargeRow[]): TurnCharges => groupedBy(rows.map(chargeViewOf), ({ turn }) => turn);

export const chargesByTurn = async (db: Knex, runId: string): Promise<TurnCharges> =>
  (await chargesOfRuns(db, [runId])).get(runId)?.() ?? new Map();

const count = (text: string | null): number => Number(text ?? 0);

const named = ({ run_id: id, turn, attempt }: ChargeRow): string => `attempt ${attempt} of turn ${turn} of run ${id}`;

export const chargeViewOf = (row: ChargeRow): ChargeView =>
  viewOfRow(row, { table: 'charges', row: named(row) }, shownCharge);

const shownCharge = (row: ChargeRow): ChargeView => ({
  ...{ turn: row.turn, attempt: row.attempt, agent: row.agent, model: row.model },
  usage:
    row.input_tokens === null
      ? null
      : {
          inputTokens: count(row.input_tokens),
          cachedInputTokens: count(row.cached_input_tokens),
          cacheWriteTokens: count(row.cache_write_tokens),
          outputTokens: count(row.output_tokens),
          reasoningTokens: count(row.reasoning_tokens),
        },
  costUsd: usdOrNull(row.nano_usd),
  price: priceOf(row),
  state: CHARGE_STATES.find((state) => state === row.state) ?? 'unpriced',
  ...{ day: row.day, chargedAt: row.charged_at.toISOString() },
});

function priceOf(row: ChargeRow): ChargeView['price'] {
  if (row.price_source === null) return null;
  const read = priceName.safeParse({ source: row.price_source, version: row.price_version ?? '' });
  if (read.success) return read.data;
  throw changedCell({ table: 'charges', row: named(row), column: 'price_source' }, 'it is no source', read.error);
}

interface SpendRow {
  readonly name: string;
  readonly nano_usd: string | null;
  readonly charges: string | number;
  readonly unpriced: string | number;
  readonly input_tokens: string | null;
  readonly output_tokens: string | null;
}

/** What a tenant has spent, by name in order, after a name. */
export async function readSpend(
  db: Knex,
  { tenant, by = 'day', from, to, agent }: SpendFilter & { readonly tenant: string },
  { after, limit }: { readonly after: string | null; readonly limit: number },
): Promise<PageRows<SpendView>> {
  const query = db('holdfast.charges')
    .where({ tenant })
    .groupBy(by)
    .select({ name: by })
    .sum({ nano_usd: 'nano_usd', input_tokens: 'input_tokens', output_tokens: 'output_tokens' })
    .count({ charges: '*' })
    .select(db.raw('(count(*) - count(nano_usd)) as unpriced'));
  if (from !== undefined) query.where('day', '>=', from);
  if (to !== undefined) query.where('day', '<=', to);
  if (agent !== undefined) query.where({ agent });
  if (after !== null) query.where(by, '>', after);
  const terms = { order: [{ column: by, order: 'asc' as const }], bytes: `octet_length(${by})`, limit };
  const { rows, more } = await rowsOfPage<SpendRow>(db, query, terms);
  return { rows: rows.map(spendViewOf), more };
}

const spendViewOf = (row: SpendRow): SpendView => ({
  name: row.name,
  costUsd: usdOf(BigInt(row.nano_usd ?? 0)),
  charges: Number(row.charges),
  unpriced: Number(row.unpriced),
  inputTokens: Number(row.input_tokens ?? 0),
  outputTokens: Number(row.output_tokens ?? 0),
});

/** All that a tenant has spent, as far as prices are known, and how many attempts cost what is not known. */
export async function sumSpend(db: Knex, tenant: string): Promise<{ costUsd: string; unpriced: number }> {
  const [row]: { nano_usd: string | null; unpriced: string | number }[] = await db('holdfast.charges')
    .where({ tenant })
    .sum({ nano_usd: 'nano_usd' })
    .select(db.raw('(count(*) - count(nano_usd)) as unpriced'));
  return { costUsd: usdOf(BigInt(row?.nano_usd ?? 0)), unpriced: Number(row?.unpriced ?? 0) };
}
