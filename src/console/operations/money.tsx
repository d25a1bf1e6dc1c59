import type { JSX } from 'preact';
import type { SpendView } from '../../core/budgets/charge.js';
import type { BudgetList } from '../../core/ops/overview.js';
import type { Page as PageOf } from '../../core/page.js';
import { useAnswer } from '../api/query.js';
import { Table } from '../shared/table.js';
import { useStart } from '../shared/time.js';
import { Trouble } from '../shared/trouble.js';
import { Text } from '../text/text.js';
import { countText, usdText } from '../text/words.js';

const DAY_MS = 86_400_000;
const DAYS = 14;

/** The budgets of the configuration, and what was spent lately. */
export const Money = (): JSX.Element => (
  <section aria-label="Money" class="charts">
    <Budgets />
    <Spend />
  </section>
);

const WHOSE = { agent: 'agent', tenant: 'tenant', all: 'all tenants' } as const;

function Budgets(): JSX.Element | null {
  const { data, error } = useAnswer<BudgetList>({ path: 'budgets', every: 5000 });
  if (data === undefined) return error === null ? null : <Trouble error={error} />;
  return (
    <div class="budget">
      <h2>Budgets</h2>
      {data.items.length === 0 ? (
        <p class="note">The configuration sets no budget for agents or tenants.</p>
      ) : (
        <Table name="Budgets" columns={{ Budget: 'text', Spent: 'number', Limit: 'number', Share: 'text' }}>
          {data.items.map(({ budget, scope, name, day, limitUsd, spentUsd }) => {
            const share = Math.round((Number(spentUsd) / Math.max(Number(limitUsd), 1e-9)) * 100);
            return (
              <tr key={budget}>
                <td>
                  {WHOSE[scope]} <Text text={name} /> <span class="faint">{day === null ? 'in all' : 'today'}</span>
                </td>
                <td class="number">{usdText(spentUsd, 4)}</td>
                <td class="number">{usdText(limitUsd)}</td>
                <td>
                  <meter min={0} max={100} high={80} optimum={0} value={share} aria-label={`${share} percent`} />{' '}
                  {share} %
                </td>
              </tr>
            );
          })}
        </Table>
      )}
    </div>
  );
}

function Spend(): JSX.Element | null {
  const from = useStart((DAYS - 1) * DAY_MS, DAY_MS).slice(0, 10);
  const query = { by: 'day', from, limit: DAYS + 1 };
  const { data, error } = useAnswer<PageOf<SpendView>>({ path: 'spend', query, every: 10_000, keeps: true });
  if (data === undefined) return error === null ? null : <Trouble error={error} />;
  const most = Math.max(...data.items.map(({ costUsd }) => Number(costUsd)), 1e-9);
  return (
    <div class="budget">
      <h2>Spent in the last {DAYS} days</h2>
      {data.items.length === 0 ? (
        <p class="note">No model call was charged.</p>
      ) : (
        <Table name="Spend by day" columns={{ Day: 'text', Spent: 'number', Calls: 'number', Share: 'text' }}>
          {data.items.toReversed().map(({ name, costUsd, charges, unpriced }) => (
            <tr key={name}>
              <td>{name}</td>
              <td class="number" title={usdText(costUsd)}>
                {usdText(costUsd, 4)}
              </td>
              <td class="number">
                {countText(charges)}
                {unpriced > 0 && <span class="faint"> ({countText(unpriced)} unpriced)</span>}
              </td>
              <td>
                <meter min={0} max={most} value={Number(costUsd)} aria-label="Share of the dearest day" />
              </td>
            </tr>
          ))}
        </Table>
      )}
    </div>
  );
}
