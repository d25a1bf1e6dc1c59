import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { RunEvent } from '../../core/log/event.js';
import type { ReadRun } from '../../core/queue/queue-wait.js';
import type { RunView } from '../../core/runs/run.js';
import { go } from '../address.js';
import { ask } from '../api/ask.js';
import { readAgain } from '../api/query.js';
import { useKeys } from '../keys.js';
import { may } from '../session.js';
import { FormDialog } from '../shared/modal.js';
import { isOver } from '../shared/status.js';
import { useRequestKey } from '../shared/work.js';
import { Fork } from './fork.js';

type Act = 'cancel' | 'retry' | 'fork';

const SAYS: { readonly [A in Act]: { readonly name: string; readonly operation: string; readonly text: string } } = {
  cancel: {
    name: 'Cancel the run',
    operation: 'cancelRun',
    text: 'It stops before its next call. What was done stays done.',
  },
  retry: { name: 'Retry', operation: 'retryRun', text: 'A new run goes on from the last good point of this one.' },
  fork: {
    name: 'Fork',
    operation: 'forkRun',
    text: 'A new run takes over the log up to the event, and executes again what came after it.',
  },
};

/** What this role may do with a run as it stands. What it may not is shown, and says what it needs. */
export function Actions({ run, events }: { readonly run: ReadRun; readonly events: readonly RunEvent[] }): JSX.Element {
  const [act, setAct] = useState<Act | null>(null);
  const acts: readonly Act[] = isOver(run.status)
    ? [...(run.status === 'failed' ? ['retry' as const] : []), 'fork']
    : ['cancel', 'fork'];
  useKeys([{ key: 'F', says: 'Fork here', act: () => may('forkRun') && setAct('fork') }]);
  return (
    <span class="row">
      {acts.map((one) => (
        <button
          key={one}
          type="button"
          disabled={!may(SAYS[one].operation)}
          title={may(SAYS[one].operation) ? SAYS[one].text : 'Needs the role operator.'}
          onClick={() => setAct(one)}
        >
          {one === 'cancel' ? 'Cancel' : SAYS[one].name}
        </button>
      ))}
      {run.forkedFrom !== null && (
        <a
          class="button"
          href={`/runs/${encodeURIComponent(run.forkedFrom.runId)}/compare/${encodeURIComponent(run.id)}`}
        >
          Compare
        </a>
      )}
      {act === 'fork' && <Fork id={run.id} events={events} close={() => setAct(null)} />}
      {act !== null && act !== 'fork' && <Confirm run={run} act={act} close={() => setAct(null)} />}
    </span>
  );
}

interface ConfirmProps {
  readonly run: ReadRun;
  readonly act: Exclude<Act, 'fork'>;
  readonly close: () => void;
}

function Confirm({ run, act, close }: ConfirmProps): JSX.Element {
  const keyOf = useRequestKey();
  const submit = async (form: FormData): Promise<void> => {
    const text = String(form.get('text') ?? '').trim();
    const body = act === 'cancel' && text !== '' ? { reason: text } : {};
    const asked = { method: 'POST', body, ...(act === 'cancel' ? {} : { key: keyOf(body) }) } as const;
    const given = await ask<RunView>(`runs/${encodeURIComponent(run.id)}/${act}`, asked);
    readAgain('runs');
    if (given.id !== run.id) go(`/runs/${given.id}`);
  };
  const { name, text } = SAYS[act];
  return (
    <FormDialog
      title={`${name}?`}
      verb={name}
      tone={act === 'cancel' ? 'danger' : 'first'}
      submit={submit}
      close={close}
    >
      <p>{text}</p>
      {act === 'cancel' && (
        <>
          <label for="act-text">Reason</label>
          <input id="act-text" name="text" autofocus />
        </>
      )}
    </FormDialog>
  );
}
