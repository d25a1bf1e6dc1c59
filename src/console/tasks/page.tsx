import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { Page as PageOf } from '../../core/page.js';
import type { TaskView } from '../../core/tasks/task.js';
import { param, paramsOf, setParams } from '../address.js';
import { ask } from '../api/ask.js';
import { readAgain, useAnswer } from '../api/query.js';
import { may } from '../session.js';
import { Pager, toggled } from '../shared/table.js';
import { Trouble, Unanswered } from '../shared/trouble.js';
import { Typed } from '../shared/typed.js';
import { useWork } from '../shared/work.js';
import { Text } from '../text/text.js';
import { countText } from '../text/words.js';
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

interface PutBackProps {
  /** Dead tasks of the page. */
  readonly items: readonly TaskView[];
  readonly selected: ReadonlySet<string>;
  readonly select: (ids: ReadonlySet<string>) => void;
}

/** Gives the dead tasks that are selected new attempts, one after the other. Those that are refused stay selected. */
export function PutBack({ items, selected, select }: PutBackProps): JSX.Element {
  const { busy, trouble, work } = useWork();
  const chosen = items.filter(({ id }) => selected.has(id));
  const putBack = (): void =>
    work(async () => {
      const left = new Set(selected);
      let refused: unknown = null;
      for (const { id, attempts } of chosen)
        try {
          await ask<TaskView>(`tasks/${encodeURIComponent(id)}/requeue`, { method: 'POST', body: { attempts } });
          left.delete(id);
        } catch (error) {
          refused = error;
        }
      select(left);
      readAgain('tasks');
      if (refused !== null) throw refused;
    });
  return (
    <div class="bulk row wrap" role="region" aria-label="Selected tasks">
      <strong>{countText(chosen.length)} selected</strong>
      <button
        type="button"
        class="first"
        disabled={busy || chosen.length === 0 || !may('requeueTask')}
        onClick={putBack}
      >
        Put back
      </button>
      {!may('requeueTask') && <span class="faint">Needs the role admin.</span>}
      <span class="fill" />
      <button type="button" class="plain" onClick={() => select(new Set(items.map(({ id }) => id)))}>
        Select all
      </button>
      <button type="button" class="plain" onClick={() => select(new Set())}>
        Select none
      </button>
      {trouble !== null && <Trouble error={trouble} />}
    </div>
  );
}
