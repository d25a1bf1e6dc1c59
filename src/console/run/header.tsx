import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { InterruptionView } from '../../core/interruptions/interruption.js';
import type { RunEvent } from '../../core/log/event.js';
import type { ReadRun } from '../../core/queue/queue-wait.js';
import { setParams } from '../address.js';
import { useAnswer } from '../api/query.js';
import { titleOf } from '../inbox/list.js';
import { Id } from '../shared/id.js';
import { RunMark } from '../shared/status.js';
import { now, Time } from '../shared/time.js';
import { Text } from '../text/text.js';
import { countText, durationText, usdText } from '../text/words.js';
import { Actions } from './actions.js';

/** Why a run is as it is: what failed, what it waits for, or what it does. */
function Why({ run, events }: { readonly run: ReadRun; readonly events: readonly RunEvent[] }): JSX.Element | null {
  if (run.error !== null) return <Failure run={run} events={events} />;
  if (run.interruptions.length > 0) return <Waits ids={run.interruptions} />;
  if (run.waitsFor !== null)
    return (
      <p class="why">
        Queued: <Text text={run.waitsFor.detail} kind="prose" />
      </p>
    );
  if (run.status === 'running') return <p class="why">{doing(events)}</p>;
  return null;
}

function doing(events: readonly RunEvent[]): string {
  const last = events.at(-1);
  if (last?.kind === 'model.requested') return 'A model is answering.';
  if (last?.kind === 'call.started' || last?.kind === 'call.checked') return 'A call is at work.';
  return 'A worker executes it.';
}

function Failure({ run, events }: { readonly run: ReadRun; readonly events: readonly RunEvent[] }): JSX.Element {
  const end = events.find(({ kind }) => kind === 'run.failed');
  const { error } = run;
  return (
    <div class="why failed" role="note">
      <p>
        <code>
          <Text text={error?.code ?? ''} />
        </code>{' '}
        <Text text={error?.message ?? ''} kind="prose" />
      </p>
      <p class="hint">
        <Text text={error?.hint ?? ''} kind="prose" />
        {end !== undefined && (
          <button type="button" class="plain" onClick={() => setParams({ event: String(end.seq) })}>
            Event {end.seq}
          </button>
        )}
      </p>
    </div>
  );
}

const Waits = ({ ids }: { readonly ids: readonly string[] }): JSX.Element => (
  <ul class="why waits">
    {ids.slice(0, 5).map((id) => (
      <Wait key={id} id={id} />
    ))}
    {ids.length > 5 && <li>and {ids.length - 5} more</li>}
  </ul>
);

function Wait({ id }: { readonly id: string }): JSX.Element {
  const { data } = useAnswer<InterruptionView>({ path: `interruptions/${id}`, every: 4000 });
  return (
    <li>
      {data === undefined ? (
        <a href={`/inbox/${id}`}>Waits</a>
      ) : (
        <>
          Waits for{' '}
          <a href={`/inbox/${id}`}>
            {data.kind.replace('_', ' ')}: <Text text={titleOf(data)} kind="prose" />
          </a>
          {data.requiredApprovals > 1 && ` (${data.decisions.length} of ${data.requiredApprovals} have approved)`}
          {data.expiresAt !== null && (
            <>
              , expires <Time at={data.expiresAt} />
            </>
          )}
        </>
      )}
    </li>
  );
}

export function Header({ run, events }: { readonly run: ReadRun; readonly events: readonly RunEvent[] }): JSX.Element {
  const [all, showAll] = useState(false);
  const until = run.completedAt === null ? now.value : Date.parse(run.completedAt);
  const requester = requesterIn(events);
  return (
    <header class="run-head">
      <p class="row wrap">
        <RunMark status={run.status} />
        <h1>
          <a href={`/runs?agent=${encodeURIComponent(run.agent)}`}>
            <Text text={run.agent} />
          </a>{' '}
          <span class="faint">
            <Text text={run.agentVersion} />
          </span>
        </h1>
        <Id id={run.id} />
        <span class="fill" />
        <Actions run={run} events={events} />
      </p>
      <Why run={run} events={events} />
      <p class="faint row wrap facts-line">
        {requester !== null && (
          <span>
            by <Text text={requester} />
          </span>
        )}
        <span>
          <Time at={run.createdAt} />
        </span>
        <span>
          {run.completedAt === null ? 'for ' : 'took '}
          {durationText(Math.max(0, until - Date.parse(run.createdAt)))}
        </span>
        <span>{run.turns} turns</span>
        <span>{countText(run.usage.totalTokens)} tokens</span>
        <span title={usdText(run.costUsd)}>
          {usdText(run.costUsd, 4)}
          {run.limits.budget !== undefined && ` of $${run.limits.budget.usd}`}
        </span>
        {run.parentRunId !== null && (
          <span>
            called by <Id id={run.parentRunId} href={`/runs/${run.parentRunId}`} />
          </span>
        )}
        {run.forkedFrom !== null && (
          <span>
            fork of <Id id={run.forkedFrom.runId} href={`/runs/${run.forkedFrom.runId}?event=${run.forkedFrom.seq}`} />{' '}
            at event {run.forkedFrom.seq}
          </span>
        )}
        {run.sessionId !== null && (
          <span>
            session <Text text={run.sessionId} />
          </span>
        )}
        <span>
          <a href={`/runs?parent=${run.id}`}>runs that it started</a>
        </span>
        {Object.keys(run.metadata).length > 0 && (
          <button type="button" class="plain" onClick={() => showAll(!all)}>
            metadata
          </button>
        )}
      </p>
      {all && (
        <p class="exact">
          <Text text={JSON.stringify(run.metadata)} />
        </p>
      )}
      {run.erasedAt !== null && (
        <p class="note">
          Its content was erased <Time at={run.erasedAt} />. Structure, times and hashes stay.
        </p>
      )}
      {run.integrity.length > 0 && (
        <p class="warnings">Rows of this run do not say what its log says. Verify it under Evidence.</p>
      )}
    </header>
  );
}

function requesterIn([first]: readonly RunEvent[]): string | null {
  const data = first?.data;
  if (typeof data !== 'object' || data === null || !('requestedBy' in data)) return null;
  const { requestedBy } = data;
  return Array.isArray(requestedBy) && typeof requestedBy[0] === 'string' ? requestedBy[0] : null;
}
