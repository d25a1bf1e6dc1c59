import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { Page as PageOf } from '../../core/page.js';
import type { TaskView } from '../../core/tasks/task.js';
import { param, paramsOf, setParams } from '../address.js';
import { useAnswer } from '../api/query.js';
import { Pager } from '../shared/pager.js';
import { toggled } from '../shared/toggled.js';
import { Typed } from '../shared/typed.js';
import { Unanswered } from '../shared/unanswered.js';
import { Text } from '../text/text.js';
import { PutBack } from './put-back.js';
import { Tasks } from './table.js';
import { TaskTabs } from './tabs.js';
import { Task } from './task.js';

const FIELDS = ['name', 'agent', 'category', 'tag', 'batch', 'minReward', 'minQuality'] as const;
const CHOSEN = [
  ...(['status', 'result', 'difficulty', 'maxReward', 'maxQuality', 'minDiversity', 'maxDiversity'] as const),
];
const LIMIT = 50;

/** Tasks, newest first; with an id, one of them. */
export const Page = ({ id }: { readonly id: string }): JSX.Element => (id === '' ? <List /> : <Task id={id} />);

function List(): JSX.Element {
  const cursor = param('cursor');
  const dead = param('dead');
  const filter = paramsOf([...FIELDS, ...CHOSEN, 'dead']);
  const answer = useAnswer<PageOf<TaskView>>({
    path: 'tasks',
    query: { ...filter, limit: LIMIT, ...(cursor === '' ? {} : { cursor }) },
    every: 4000,
  });
  const [selected, select] = useState<ReadonlySet<string>>(new Set());
  const items = answer.data?.items ?? [];
  return (
    <div class="page">
      <h1>Tasks</h1>
      <TaskTabs />
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
          <Typed
            key={name}
            name={name}
            value={param(name)}
            commit={(text) => setParams({ [name]: text.trim(), cursor: '' })}
          />
        ))}
        {CHOSEN.filter((name) => param(name) !== '').map((name) => (
          <button key={name} type="button" class="chip" onClick={() => setParams({ [name]: '', cursor: '' })}>
            {name}: <Text text={param(name)} /> ✕
          </button>
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
      {items.length > 0 && (
        <Tasks items={items} selected={dead === '' ? null : selected} toggle={(id) => select(toggled(selected, id))} />
      )}
      {items.length > 0 && dead !== '' && <PutBack items={items} selected={selected} select={select} />}
      <Pager next={answer.data?.nextCursor ?? null} />
    </div>
  );
}
