import type { JSX } from 'preact';
import type { Page as PageOf } from '../../core/page.js';
import type { BatchRow } from '../../core/tasks/batch.js';
import { param } from '../address.js';
import { useAnswer } from '../api/query.js';
import { ChangedRows } from '../shared/changed-rows.js';
import { Pager, Table } from '../shared/table.js';
import { Time } from '../shared/time.js';
import { Unanswered } from '../shared/trouble.js';
import { TaskTabs } from '../tasks/tabs.js';
import { Text } from '../text/text.js';
import { countText } from '../text/words.js';
import { Batch } from './batch.js';
import { meanText, rateText } from './words.js';

const LIMIT = 20;

const COLUMNS = {
  Batch: 'text',
  Tasks: 'number',
  Ended: 'text',
  Failed: 'number',
  Passed: 'number',
  'Mean reward': 'number',
  By: 'text',
  Submitted: 'text',
} as const;

/** Batches of tasks, newest first; with a key, one of them. */
export const Page = ({ id }: { readonly id: string }): JSX.Element => (id === '' ? <List /> : <Batch id={id} />);

function List(): JSX.Element {
  const cursor = param('cursor');
  const answer = useAnswer<PageOf<BatchRow>>({
    path: 'batches',
    query: { limit: LIMIT, ...(cursor === '' ? {} : { cursor }) },
    every: 5000,
  });
  const items = answer.data?.items ?? [];
  return (
    <div class="page">
      <h1>Batches</h1>
      <TaskTabs />
      {answer.data === undefined && <Unanswered answer={answer} />}
      <ChangedRows rows={answer.data?.unreadable} />
      {answer.data !== undefined && answer.data.unreadable === undefined && items.length === 0 && (
        <section class="empty">
          <h2>No batch yet</h2>
          <p>
            <code>holdfast task submit --batch &lt;file&gt;</code>
          </p>
        </section>
      )}
      {items.length > 0 && (
        <Table name="Batches" columns={COLUMNS}>
          {items.map((one) => (
            <tr key={one.key}>
              <td class="wide">
                <a href={`/batches/${encodeURIComponent(one.key)}`} class="exact line" title={one.key}>
                  <Text text={one.key} />
                </a>
              </td>
              <td class="number">
                {countText(one.tasks)}
                {one.atLeast && '+'}
              </td>
              <td>
                <progress
                  max={Math.max(1, one.tasks)}
                  value={one.tasks - one.open}
                  aria-label={`${one.tasks - one.open} of ${one.tasks} ended`}
                />
              </td>
              <td class="number">{countText(one.failed)}</td>
              <td class="number">{rateText(one.passRate)}</td>
              <td class="number">{meanText(one.meanReward)}</td>
              <td>
                <Text text={one.actor} />
              </td>
              <td>
                <Time at={one.submittedAt} />
              </td>
            </tr>
          ))}
        </Table>
      )}
      <Pager next={answer.data?.nextCursor ?? null} />
    </div>
  );
}
