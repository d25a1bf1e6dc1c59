import type { Knex } from 'knex';
import type { SpendFilter, SpendView } from '../../core/budgets/spend.js';
import { usdOf } from '../../core/money.js';
import { type PageRows, rowsOfPage } from '../runs/page-rows.js';

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
  return { rows: rows.map(viewOf), more };
}

const viewOf = (row: SpendRow): SpendView => ({
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
