import type { JSX } from 'preact';
import type { TaskView } from '../../core/tasks/task.js';
import { ask } from '../api/ask.js';
import { readAgain } from '../api/query.js';
import { may } from '../session.js';
import { Trouble } from '../shared/trouble.js';
import { useWork } from '../shared/work.js';
import { countText } from '../text/words.js';

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
