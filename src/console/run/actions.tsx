import type { JSX } from 'preact';
import { useRef, useState } from 'preact/hooks';
import type { ReadRun } from '../../core/queue/queue-wait.js';
import type { RunView } from '../../core/runs/run.js';
import { go, param } from '../address.js';
import { ask } from '../api/ask.js';
import { readAgain } from '../api/query.js';
import { may } from '../session.js';
import { FormDialog } from '../shared/modal.js';
import { isOver } from '../shared/status.js';

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
export function Actions({ run }: { readonly run: ReadRun }): JSX.Element {
  const [act, setAct] = useState<Act | null>(null);
  const acts: readonly Act[] = isOver(run.status)
    ? [...(run.status === 'failed' ? ['retry' as const] : []), 'fork']
    : ['cancel', 'fork'];
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
      {act !== null && <Confirm run={run} act={act} close={() => setAct(null)} />}
    </span>
  );
}

interface ConfirmProps {
  readonly run: ReadRun;
  readonly act: Act;
  readonly close: () => void;
}

function Confirm({ run, act, close }: ConfirmProps): JSX.Element {
  const key = useRef(crypto.randomUUID());
  const submit = async (form: FormData): Promise<void> => {
    const text = String(form.get('text') ?? '').trim();
    const body = act === 'fork' ? { at: Number(text) } : act === 'cancel' && text !== '' ? { reason: text } : {};
    const asked = { method: 'POST', body, ...(act === 'cancel' ? {} : { key: key.current }) } as const;
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
      {act !== 'retry' && (
        <>
          <label for="act-text">{act === 'fork' ? 'After which event' : 'Reason'}</label>
          <input
            id="act-text"
            name="text"
            inputMode={act === 'fork' ? 'numeric' : 'text'}
            required={act === 'fork'}
            defaultValue={act === 'fork' ? param('event') || '1' : ''}
            autofocus
          />
        </>
      )}
    </FormDialog>
  );
}
