import type { JSX } from 'preact';
import type { TaskView } from '../../core/tasks/task.js';
import { Table } from '../shared/table.js';
import { Time } from '../shared/time.js';
import { Text } from '../text/text.js';
import { shortId } from '../text/words.js';

const COLUMNS = {
  Result: 'text',
  Task: 'text',
  Name: 'text',
  Agent: 'text',
  Difficulty: 'text',
  Reward: 'number',
  Attempts: 'number',
  Submitted: 'text',
} as const;

/** What became of a task, in a word. */
export const resultOf = ({ result, status }: Pick<TaskView, 'result' | 'status'>): string =>
  result === null ? status : result.type.replaceAll('_', ' ');

interface TasksProps {
  readonly items: readonly TaskView[];
  /** Null: none can be selected. */
  readonly selected: ReadonlySet<string> | null;
  readonly toggle: (id: string) => void;
}

export const Tasks = ({ items, selected, toggle }: TasksProps): JSX.Element => (
  <Table name="Tasks" columns={selected === null ? COLUMNS : { Select: 'unseen', ...COLUMNS }}>
    {items.map((task) => (
      <tr key={task.id}>
        {selected !== null && (
          <td>
            <input
              type="checkbox"
              aria-label={`Select ${shortId(task.id)}`}
              checked={selected.has(task.id)}
              onChange={() => toggle(task.id)}
            />
          </td>
        )}
        <td>
          {resultOf(task)}
          {task.dead && <strong class="tone-failed"> dead</strong>}
        </td>
        <td>
          <a href={`/tasks/${task.id}`} title={task.id} class="exact">
            <Text text={shortId(task.id)} />
          </a>
        </td>
        <td>
          <Text text={`${task.name}@${task.version}`} />
        </td>
        <td>
          <Text text={task.agent} />
        </td>
        <td>{task.difficulty}</td>
        <td class="number">{task.reward ?? '–'}</td>
        <td class="number">{task.attempts}</td>
        <td>
          <Time at={task.createdAt} />
        </td>
      </tr>
    ))}
  </Table>
);
