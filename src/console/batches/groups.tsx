import type { JSX } from 'preact';
import type { TaskGrouping, TaskGroups } from '../../core/quality/task-groups.js';
import { param, setParams } from '../address.js';
import { useAnswer } from '../api/query.js';
import { Table } from '../shared/table.js';
import { Unanswered } from '../shared/trouble.js';
import { Text } from '../text/text.js';
import { countText, usdText } from '../text/words.js';
import { intervalText, meanText, rateText } from './words.js';

const BY: readonly TaskGrouping[] = ['name', 'difficulty', 'category', 'language', 'agent', 'model'];

const COLUMNS = {
  Group: 'text',
  Tasks: 'number',
  Passed: 'text',
  'Mean reward': 'number',
  'Mean turns': 'number',
  Cost: 'number',
} as const;

const isGrouping = (text: string): text is TaskGrouping => BY.some((one) => one === text);

/** The tasks of a batch by something that they have, beside each other. */
export function Groups({ batch }: { readonly batch: string }): JSX.Element {
  const asked = param('by');
  const by = isGrouping(asked) ? asked : 'name';
  const answer = useAnswer<TaskGroups>({ path: 'tasks/groups', query: { by, batch }, every: 8000 });
  return (
    <section aria-label="Groups">
      <div class="row wrap">
        <h2>Tasks by</h2>
        {BY.map((one) => (
          <button key={one} type="button" class="chip" aria-pressed={one === by} onClick={() => setParams({ by: one })}>
            {one}
          </button>
        ))}
      </div>
      {answer.data === undefined && <Unanswered answer={answer} />}
      {answer.data?.items.length === 0 && <p class="note">No task has ended.</p>}
      {answer.data !== undefined && answer.data.items.length > 0 && (
        <Table name="Groups" columns={COLUMNS}>
          {answer.data.items.map((one) => (
            <tr key={one.name}>
              <td class="wide">
                <Text text={one.name} />
              </td>
              <td class="number">{countText(one.tasks)}</td>
              <td>
                {rateText(one.passRate)} <span class="faint">{intervalText(one.passRate)}</span>
              </td>
              <td class="number">{meanText(one.meanReward)}</td>
              <td class="number">{meanText(one.meanTurns, 1)}</td>
              <td class="number" title={usdText(one.costUsd)}>
                {usdText(one.costUsd, 4)}
              </td>
            </tr>
          ))}
        </Table>
      )}
    </section>
  );
}
