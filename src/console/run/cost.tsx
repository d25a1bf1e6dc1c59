import type { JSX } from 'preact';
import type { ChargeView } from '../../core/budgets/charge.js';
import type { Page } from '../../core/page.js';
import type { ReadRun } from '../../core/queue/queue-wait.js';
import { useAnswer } from '../api/query.js';
import { Table } from '../shared/table.js';
import { Unanswered } from '../shared/trouble.js';
import { Text } from '../text/text.js';
import { countText, usdText } from '../text/words.js';

const COLUMNS = {
  Turn: 'number',
  Model: 'text',
  'Tokens in': 'number',
  'Tokens out': 'number',
  Cost: 'number',
  Share: 'text',
} as const;

/** What the run cost, by model call. */
export function View({ id, run }: { readonly id: string; readonly run: ReadRun }): JSX.Element {
  const answer = useAnswer<Page<ChargeView>>({
    path: `runs/${encodeURIComponent(id)}/charges`,
    query: { limit: 200 },
    every: 4000,
  });
  if (answer.data === undefined) return <Unanswered answer={answer} />;
  const { items, nextCursor } = answer.data;
  const most = Math.max(...items.map(({ costUsd }) => Number(costUsd ?? 0)), 1e-12);
  return (
    <>
      <p class="sum">
        {usdText(run.costUsd)}
        {run.limits.budget !== undefined && ` of $${run.limits.budget.usd}`}
        <span class="faint"> with the runs that it started</span>
      </p>
      {items.length === 0 ? (
        <p class="note">No model call was charged.</p>
      ) : (
        <Table name="Charges" columns={COLUMNS}>
          {items.map((one) => (
            <tr key={`${one.turn}/${one.attempt}`}>
              <td class="number">
                {one.turn}
                {one.attempt > 1 && <span class="faint"> attempt {one.attempt}</span>}
              </td>
              <td>
                <Text text={one.model} />
              </td>
              <td class="number">{one.usage === null ? '?' : countText(one.usage.inputTokens)}</td>
              <td class="number">{one.usage === null ? '?' : countText(one.usage.outputTokens)}</td>
              <td class="number">{usdText(one.costUsd)}</td>
              <td class="bar-cell">
                <meter min={0} max={most} value={Number(one.costUsd ?? 0)} aria-label="Share of the dearest call" />
              </td>
            </tr>
          ))}
        </Table>
      )}
      {nextCursor !== null && <p class="note">The first 200 calls are shown.</p>}
    </>
  );
}
