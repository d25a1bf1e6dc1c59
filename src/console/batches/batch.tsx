import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { Page as PageOf } from '../../core/page.js';
import type { BatchView, CancelledBatch } from '../../core/tasks/batch.js';
import type { TaskView } from '../../core/tasks/task.js';
import { ask } from '../api/ask.js';
import { readAgain, useAnswer } from '../api/query.js';
import { may } from '../session.js';
import { Chart } from '../shared/chart.js';
import { FormDialog } from '../shared/modal.js';
import { Time } from '../shared/time.js';
import { Unanswered } from '../shared/trouble.js';
import { Tasks } from '../tasks/table.js';
import { Text } from '../text/text.js';
import { countText, durationText, usdText } from '../text/words.js';
import { Groups } from './groups.js';
import { intervalText, meanText, rateText } from './words.js';

const TASKS_SHOWN = 20;
const HOUR_MS = 3_600_000;
const ofTasks = (key: string, more = ''): string => `/tasks?batch=${encodeURIComponent(key)}${more}`;

/** One batch: how far it is, what became of its tasks, and by what they failed. */
export function Batch({ id }: { readonly id: string }): JSX.Element {
  const path = `batches/${encodeURIComponent(id)}`;
  const answer = useAnswer<BatchView>({ path, every: 4000 });
  const tasks = useAnswer<PageOf<TaskView>>({ path: 'tasks', query: { batch: id, limit: TASKS_SHOWN }, every: 5000 });
  const [cancelling, setCancelling] = useState(false);
  const batch = answer.data;
  if (batch === undefined)
    return (
      <div class="page">
        <Unanswered answer={answer} />
      </div>
    );
  const mayCancel = may('cancelBatch');
  return (
    <div class="page">
      <p class="row wrap">
        <h1>
          Batch <Text text={batch.key} />
        </h1>
        <span class="fill" />
        {batch.open > 0 && (
          <button
            type="button"
            class="danger"
            disabled={!mayCancel}
            title={mayCancel ? '' : 'Needs the role operator.'}
            onClick={() => setCancelling(true)}
          >
            Cancel
          </button>
        )}
      </p>
      <Progress of={batch} />
      <Facts of={batch} />
      <div class="charts">
        <Chart
          name="Rewards"
          kind="bars"
          labels={batch.rewards.map((_count, at) => (at / batch.rewards.length).toFixed(2))}
          lines={[{ key: 'tasks', points: batch.rewards, total: batch.rewards.reduce((sum, count) => sum + count, 0) }]}
          text={countText}
        />
        <Failures of={batch} />
      </div>
      <Groups batch={batch.key} />
      <section aria-label="Tasks">
        <div class="row wrap">
          <h2>Tasks</h2>
          <span class="fill" />
          <a href={ofTasks(batch.key)}>All tasks of the batch</a>
        </div>
        {tasks.data === undefined ? (
          <Unanswered answer={tasks} />
        ) : (
          <Tasks items={tasks.data.items} selected={null} toggle={() => {}} />
        )}
      </section>
      {cancelling && <Cancel of={batch} path={path} close={() => setCancelling(false)} />}
    </div>
  );
}

function Progress({ of }: { readonly of: BatchView }): JSX.Element {
  const ended = of.tasks - of.open;
  const left = of.endedLastHour === 0 ? null : durationText((of.open / of.endedLastHour) * HOUR_MS);
  return (
    <p class="row wrap">
      <progress max={Math.max(1, of.tasks)} value={ended} aria-label="Progress" />
      <span>
        {countText(ended)} of {countText(of.tasks)}
        {of.atLeast && '+'} ended
        {of.open > 0 && left !== null && <span class="faint"> · about {left} left, at the pace of the last hour</span>}
      </span>
    </p>
  );
}

function Facts({ of }: { readonly of: BatchView }): JSX.Element {
  const byStatus = Object.entries(of.byStatus).filter(([, count]) => count > 0);
  const byResult = Object.entries(of.byResult).filter(([, count]) => count > 0);
  return (
    <section class="card">
      <dl class="facts">
        <dt>Passed</dt>
        <dd>
          {rateText(of.passRate)} <span class="faint">{intervalText(of.passRate)}</span>
        </dd>
        <dt>Mean reward</dt>
        <dd>{meanText(of.meanReward)}</dd>
        <dt>Status</dt>
        <dd class="row wrap">
          {byStatus.map(([status, count]) => (
            <a key={status} href={ofTasks(of.key, `&status=${status}`)}>
              {countText(count)} {status}
            </a>
          ))}
        </dd>
        <dt>Result</dt>
        <dd class="row wrap">
          {byResult.length === 0 && 'none yet'}
          {byResult.map(([result, count]) => (
            <a key={result} href={ofTasks(of.key, `&result=${result}`)}>
              {countText(count)} {result.replaceAll('_', ' ')}
            </a>
          ))}
          {(of.byResult.error ?? 0) > 0 && <a href={ofTasks(of.key, '&dead=true')}>put dead tasks back</a>}
        </dd>
        <dt>Cost</dt>
        <dd>
          {usdText(of.costUsd)}
          {of.unpriced > 0 && <span class="faint"> and {countText(of.unpriced)} runs without a price</span>}
        </dd>
        <dt>Submitted</dt>
        <dd>
          <Time at={of.submittedAt} /> by <Text text={of.actor} />
          {of.lines !== null && (
            <span class="faint">
              {' '}
              · {countText(of.lines)} lines, {countText(of.refused ?? 0)} refused
            </span>
          )}
        </dd>
      </dl>
    </section>
  );
}

const Failures = ({ of }: { readonly of: BatchView }): JSX.Element => (
  <section class="card" aria-label="Failures">
    <h2>What failed</h2>
    {of.failures.length === 0 && <p class="note">Nothing.</p>}
    <ul class="decisions">
      {of.failures.map(({ type, name, count, taskId }) => (
        <li key={`${type} ${name}`}>
          <a href={`/tasks/${taskId}`}>
            {countText(count)} × {type.replaceAll('_', ' ')}
          </a>{' '}
          <Text text={name} kind="prose" />
        </li>
      ))}
    </ul>
  </section>
);

interface CancelProps {
  readonly of: BatchView;
  readonly path: string;
  readonly close: () => void;
}

/** Asks the open tasks to stop, some by a request, until none is left. */
function Cancel({ of, path, close }: CancelProps): JSX.Element {
  const [done, setDone] = useState(0);
  const submit = async (form: FormData): Promise<void> => {
    const reason = String(form.get('reason') ?? '').trim();
    let all = 0;
    for (let answer: CancelledBatch = { cancelled: 1, left: 1 }; answer.left > 0 && answer.cancelled > 0; ) {
      answer = await ask<CancelledBatch>(`${path}/cancel`, { method: 'POST', body: reason === '' ? {} : { reason } });
      all += answer.cancelled;
      setDone(all);
    }
    readAgain('batches');
    readAgain('tasks');
  };
  const name = `Cancel ${countText(of.open)} ${of.open === 1 ? 'task' : 'tasks'}`;
  return (
    <FormDialog title={`${name}?`} verb={name} tone="danger" submit={submit} close={close}>
      <p>Each stops before its next call. What has ended stays as it is.</p>
      <label for="reason">Reason</label>
      <input id="reason" name="reason" autocomplete="off" autofocus />
      {done > 0 && (
        <p role="status">
          <progress max={Math.max(done, of.open)} value={done} aria-label="Cancelled" /> {countText(done)} of{' '}
          {countText(of.open)}
        </p>
      )}
    </FormDialog>
  );
}
