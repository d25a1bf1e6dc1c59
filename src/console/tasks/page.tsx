import type { JSX } from 'preact';
import type { Page as PageOf } from '../../core/page.js';
import type { TaskView } from '../../core/tasks/task.js';
import { param, paramsOf, setParams } from '../address.js';
import { useAnswer } from '../api/query.js';
import { Table } from '../shared/table.js';
import { Time } from '../shared/time.js';
import { Unanswered } from '../shared/unanswered.js';
import { Text } from '../text/text.js';
import { shortId } from '../text/words.js';
import { Task } from './task.js';

const FIELDS = ['name', 'agent', 'category', 'tag'] as const;
const LIMIT = 50;

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

/** Tasks, newest first; with an id, one of them. */
export const Page = ({ id }: { readonly id: string }): JSX.Element => (id === '' ? <List /> : <Task id={id} />);

function List(): JSX.Element {
  const cursor = param('cursor');
  const dead = param('dead');
  const filter = paramsOf([...FIELDS, 'dead']);
  const answer = useAnswer<PageOf<TaskView>>({
    path: 'tasks',
    query: { ...filter, limit: LIMIT, ...(cursor === '' ? {} : { cursor }) },
    every: 4000,
  });
  const items = answer.data?.items ?? [];
  return (
    <div class="page">
      <h1>Tasks</h1>
      <div class="filters">
        <button
          type="button"
          class="chip"
          aria-pressed={dead === ''}
          onClick={() => setParams({ dead: '', cursor: '' })}
        >
          all
        </button>
        <button
          type="button"
          class="chip"
          aria-pressed={dead !== ''}
          onClick={() => setParams({ dead: 'true', cursor: '' })}
        >
          dead
        </button>
        {FIELDS.map((name) => (
          <input
            key={name}
            aria-label={name}
            placeholder={name}
            value={param(name)}
            spellcheck={false}
            onChange={(event) => setParams({ [name]: event.currentTarget.value.trim(), cursor: '' })}
          />
        ))}
      </div>
      {answer.data === undefined && <Unanswered answer={answer} />}
      {answer.data !== undefined && items.length === 0 && (
        <section class="empty">
          <h2>{Object.keys(filter).length === 0 ? 'No task yet' : 'No task fits the filter'}</h2>
          <p>
            <code>holdfast task submit &lt;file&gt;</code>
          </p>
        </section>
      )}
      {items.length > 0 && <Tasks items={items} />}
      {answer.data?.nextCursor != null && (
        <p class="row">
          <span class="fill" />
          <button type="button" onClick={() => setParams({ cursor: answer.data?.nextCursor ?? '' })}>
            Older ›
          </button>
        </p>
      )}
    </div>
  );
}

const Tasks = ({ items }: { readonly items: readonly TaskView[] }): JSX.Element => (
  <Table name="Tasks" columns={COLUMNS}>
    {items.map((task) => (
      <tr key={task.id}>
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
