import type { JSX } from 'preact';
import type { TaskView } from '../../core/tasks/task.js';
import { ask } from '../api/ask.js';
import { readAgain, useAnswer } from '../api/query.js';
import { may } from '../session.js';
import { Id } from '../shared/id.js';
import { RunMark } from '../shared/status.js';
import { Time } from '../shared/time.js';
import { Trouble, Unanswered } from '../shared/trouble.js';
import { useWork } from '../shared/work.js';
import { exactText } from '../text/exact.js';
import { Json } from '../text/json.js';
import { Text } from '../text/text.js';
import { resultOf } from './table.js';

export function Task({ id }: { readonly id: string }): JSX.Element {
  const path = `tasks/${encodeURIComponent(id)}`;
  const answer = useAnswer<TaskView>({ path, every: 3000 });
  const { busy, trouble, work } = useWork();
  const task = answer.data;
  if (task === undefined)
    return (
      <div class="page">
        <Unanswered answer={answer} />
      </div>
    );
  const putBack = (): void =>
    work(async () => {
      await ask<TaskView>(`${path}/requeue`, { method: 'POST', body: { attempts: task.attempts } });
      readAgain('tasks');
    });
  return (
    <div class="page">
      <p class="row wrap">
        <h1>
          <Text text={`${task.name}@${task.version}`} />
        </h1>
        <Id id={task.id} />
        <span class="fill" />
        {task.dead && (
          <button
            type="button"
            class="first"
            disabled={busy || !may('requeueTask')}
            title={may('requeueTask') ? '' : 'Needs the role admin.'}
            onClick={putBack}
          >
            Put back
          </button>
        )}
      </p>
      {trouble !== null && <Trouble error={trouble} />}
      <section class="card">
        <dl class="facts">
          <dt>Result</dt>
          <dd>
            {resultOf(task)}
            {task.dead && ' (dead: no attempt follows by itself)'}
          </dd>
          <dt>Reward</dt>
          <dd>{task.reward ?? 'none'}</dd>
          <dt>Run</dt>
          <dd>
            <Id id={task.runId} href={`/runs/${task.runId}`} />
          </dd>
          <dt>Agent</dt>
          <dd>
            <Text text={task.agent} />
          </dd>
          <dt>Kind</dt>
          <dd>
            <Text text={task.category} />, {task.difficulty}
            {task.tags.length > 0 && `, ${task.tags.join(', ')}`}
          </dd>
          {task.batch !== null && (
            <>
              <dt>Batch</dt>
              <dd>
                <a href={`/batches/${encodeURIComponent(task.batch)}`} class="exact">
                  <Text text={task.batch} />
                </a>
              </dd>
            </>
          )}
          <dt>Submitted</dt>
          <dd>
            <Time at={task.createdAt} />
          </dd>
          {task.retryAt !== null && (
            <>
              <dt>Next attempt</dt>
              <dd>
                <Time at={task.retryAt} />
              </dd>
            </>
          )}
        </dl>
      </section>
      {task.result !== null && (
        <section class="card">
          <h2>Result</h2>
          <Json value={task.result} />
        </section>
      )}
      <section class="card">
        <h2>Parameters</h2>
        <Json value={task.parameters} />
      </section>
      <section class="card">
        <h2>Attempts</h2>
        <ul class="decisions">
          {(task.tried ?? []).map((one) => (
            <li key={one.runId} class="row wrap">
              <RunMark status={one.status} />
              <Id id={one.runId} href={`/runs/${one.runId}`} />
              <span class="faint">
                <Time at={one.createdAt} />
              </span>
              {one.error !== null && (
                <span>
                  <code>{one.error.code}</code> <Text text={one.error.message} kind="prose" />
                </span>
              )}
            </li>
          ))}
        </ul>
      </section>
      {Object.keys(task.metadata).length > 0 && (
        <section class="card">
          <h2>Metadata</h2>
          <div class="exact">
            <Text text={exactText(task.metadata)} />
          </div>
        </section>
      )}
    </div>
  );
}
