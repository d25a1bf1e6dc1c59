import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { Health } from '../../core/ops/health.js';
import type { Stats } from '../../core/ops/stats.js';
import type { Page as PageOf } from '../../core/page.js';
import type { WorkerView } from '../../core/queue/worker.js';
import { ask } from '../api/ask.js';
import { readAgain, useAnswer } from '../api/query.js';
import { may } from '../session.js';
import { ChangedRows } from '../shared/changed-rows.js';
import { FormDialog } from '../shared/modal.js';
import { Table } from '../shared/table.js';
import { Time } from '../shared/time.js';
import { Trouble, Unanswered } from '../shared/trouble.js';
import { Text } from '../text/text.js';
import { countText, usdText } from '../text/words.js';
import { Errors } from './errors.js';
import { Money } from './money.js';
import { Queue } from './queue.js';
import { Webhooks } from './webhooks.js';

const TONES = { pass: 'done', warn: 'waiting', fail: 'failed' } as const;

/** How the engine is: its parts, what is at work, and the workers. */
export function Page(): JSX.Element {
  return (
    <div class="page">
      <h1>Operations</h1>
      <HealthLine />
      <Numbers />
      <Queue />
      <Errors />
      <Money />
      {may('listWebhooks') && <Webhooks />}
      {may('listWorkers') ? (
        <Workers />
      ) : (
        <p class="note">The workers are shown to tokens with a role in the installation.</p>
      )}
    </div>
  );
}

function HealthLine(): JSX.Element | null {
  const { data, error } = useAnswer<Health>({ path: 'health', every: 5000, enabled: may('getHealth') });
  if (data === undefined) return error === null ? null : <Trouble error={error} />;
  return (
    <section class="card" aria-label="Health">
      <p class="row wrap">
        <strong>
          Holdfast <Text text={data.version} />, {data.database}
        </strong>
        {Object.entries(data.checks).map(([name, { status }]) => (
          <span key={name} class={`status tone-${TONES[status]}`}>
            {name}: {status}
          </span>
        ))}
      </p>
      {Object.entries(data.checks).map(
        ([name, { detail }]) =>
          detail !== undefined && (
            <p key={name} class="note">
              {name}: <Text text={detail} kind="prose" />
            </p>
          ),
      )}
    </section>
  );
}

function Numbers(): JSX.Element | null {
  const { data, error } = useAnswer<Stats>({ path: 'stats', every: 3000, enabled: may('getStats') });
  if (data === undefined) return error === null ? null : <Trouble error={error} />;
  return (
    <section aria-label="Numbers">
      <ul class="numbers">
        {Object.entries(data.runs).map(([status, count]) => (
          <li key={status} class="card">
            <a href={`/runs?status=${status}`}>
              <strong>{countText(count)}</strong> {status}
            </a>
          </li>
        ))}
        <li class="card">
          <a href="/inbox">
            <strong>{countText(data.pendingInterruptions)}</strong> waits
          </a>
        </li>
        {data.throughput !== null && (
          <li class="card">
            <strong>{countText(data.throughput.runs.lastHour)}</strong> runs ended in the last hour
          </li>
        )}
        <li class="card">
          <strong>{countText(data.totalTokens)}</strong> tokens
        </li>
        <li class="card" title={usdText(data.costUsd)}>
          <strong>{usdText(data.costUsd, 4)}</strong> spent
          {data.unpriced > 0 && <span class="faint"> and {countText(data.unpriced)} unpriced calls</span>}
        </li>
        {data.tasks !== null && data.tasks.total > 0 && (
          <li class="card">
            <a href="/tasks">
              <strong>{data.tasks.passRate === null ? '–' : `${(data.tasks.passRate * 100).toFixed(1)} %`}</strong> of{' '}
              {countText(data.tasks.total)} tasks passed
            </a>
          </li>
        )}
      </ul>
    </section>
  );
}

const WORKER_COLUMNS = {
  Status: 'text',
  Worker: 'text',
  Role: 'text',
  Build: 'text',
  Running: 'text',
  Heartbeat: 'text',
  Started: 'text',
  Actions: 'unseen',
} as const;

function Workers(): JSX.Element {
  const answer = useAnswer<PageOf<WorkerView>>({ path: 'workers', query: { limit: 200 }, every: 3000 });
  const [stopping, stop] = useState<string | null>(null);
  if (answer.data === undefined) return <Unanswered answer={answer} />;
  return (
    <section>
      <h2>Workers</h2>
      <ChangedRows rows={answer.data.unreadable} />
      <Table name="Workers" columns={WORKER_COLUMNS}>
        {answer.data.items.map((worker) => (
          <tr key={worker.id}>
            <td>{worker.status}</td>
            <td class="exact">
              <Text text={worker.id} />
            </td>
            <td>{worker.role}</td>
            <td class="exact">
              <Text text={worker.build.slice(0, 12)} />
            </td>
            <td>
              {worker.running} of {worker.capacity}
              {worker.aloneRunId !== null && (
                <>
                  , alone with <a href={`/runs/${worker.aloneRunId}`}>a run</a>
                </>
              )}
            </td>
            <td>
              <Time at={worker.heartbeatAt} />
            </td>
            <td>
              <Time at={worker.startedAt} />
            </td>
            <td>
              {worker.status === 'working' && (
                <button type="button" disabled={!may('stopWorker')} onClick={() => stop(worker.id)}>
                  Stop
                </button>
              )}
            </td>
          </tr>
        ))}
      </Table>
      {stopping !== null && <StopWorker id={stopping} close={() => stop(null)} />}
    </section>
  );
}

function StopWorker({ id, close }: { readonly id: string; readonly close: () => void }): JSX.Element {
  const submit = async (): Promise<void> => {
    await ask(`workers/${encodeURIComponent(id)}/stop`, { method: 'POST', body: {} });
    readAgain('workers');
  };
  const title = (
    <>
      Stop the worker <Text text={id} />?
    </>
  );
  return (
    <FormDialog title={title} verb="Stop" tone="danger" submit={submit} close={close}>
      <p>It takes no more runs, and its process ends. Other workers resume what it leaves.</p>
    </FormDialog>
  );
}
