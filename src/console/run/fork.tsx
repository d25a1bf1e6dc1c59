import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { EventData, RunEvent } from '../../core/log/event.js';
import type { RunView } from '../../core/runs/run.js';
import { go, param } from '../address.js';
import { ask } from '../api/ask.js';
import { readAgain } from '../api/query.js';
import { EffectWord } from '../shared/effect.js';
import { FormDialog } from '../shared/modal.js';
import { useRequestKey } from '../shared/work.js';
import { exactText, parseExact } from '../text/exact.js';
import { Text } from '../text/text.js';

/** What of the last event that a fork takes over may be said otherwise. */
function editableIn(event: RunEvent | undefined): { readonly name: string; readonly value: unknown } | null {
  if (event === undefined || event.data === null) return null;
  if (event.kind === 'model.responded')
    return { name: 'Answer of the model', value: (event.data as EventData<'model.responded'>).output };
  if (event.kind === 'call.finished')
    return { name: 'Outcome of the call', value: (event.data as EventData<'call.finished'>).outcome };
  return null;
}

/** The edit that a text makes of an event; null: it says what the event says. Throws where the text is no JSON. */
function editIn(event: RunEvent | undefined, text: string): object | null {
  const editable = editableIn(event);
  if (event === undefined || editable === null || text === exactText(editable.value, 2)) return null;
  const value = parseExact(text);
  return event.kind === 'model.responded'
    ? { turn: (event.data as EventData<'model.responded'>).turn, output: value }
    : { callId: (event.data as EventData<'call.finished'>).callId, outcome: value };
}

/** Calls that ended after an event: a fork from there executes them again, if its models ask for them again. */
function callsAfter(events: readonly RunEvent[], at: number): readonly EventData<'call.checked'>[] {
  const ended = new Set(
    events.flatMap(({ seq, kind, data }) =>
      seq > at && data !== null && (kind === 'call.finished' || kind === 'call.started')
        ? [(data as EventData<'call.finished'>).callId]
        : [],
    ),
  );
  return events.flatMap(({ kind, data }) => {
    if (kind !== 'call.checked' || data === null) return [];
    const checked = data as EventData<'call.checked'>;
    return ended.delete(checked.callId) ? [checked] : [];
  });
}

const SHOWN = 20;

interface ForkProps {
  readonly id: string;
  readonly events: readonly RunEvent[];
  readonly close: () => void;
}

/** Starts a run that takes over the log up to an event, with edits, and says what it may do again. */
export function Fork({ id, events, close }: ForkProps): JSX.Element {
  const keyOf = useRequestKey();
  const [at, setAt] = useState(Number(param('event')) || Math.max(1, events.length - 1));
  const event = events.find(({ seq }) => seq === at);
  const editable = editableIn(event);
  const again = callsAfter(events, at);
  const submit = async (form: FormData): Promise<void> => {
    const edit = editIn(event, String(form.get('edit') ?? ''));
    const model = String(form.get('model') ?? '').trim();
    const body = { at, ...(edit === null ? {} : { edits: [edit] }), ...(model === '' ? {} : { model }) };
    const asked = { method: 'POST', body, key: keyOf(body) } as const;
    const made = await ask<RunView>(`runs/${encodeURIComponent(id)}/fork`, asked);
    readAgain('runs');
    go(`/runs/${made.id}`);
  };
  return (
    <FormDialog title="Fork the run?" verb="Fork" submit={submit} close={close}>
      <label for="fork-at">After which event</label>
      <input
        id="fork-at"
        name="at"
        inputMode="numeric"
        required
        value={at}
        onInput={({ currentTarget }) => setAt(Number(currentTarget.value))}
        autofocus
      />
      <p class="faint">{event === undefined ? 'The log has no such event.' : <Text text={event.kind} />}</p>
      {editable !== null && (
        <>
          <label for="fork-edit">{editable.name} (JSON)</label>
          <textarea
            key={at}
            id="fork-edit"
            name="edit"
            class="exact"
            rows={8}
            spellcheck={false}
            defaultValue={exactText(editable.value, 2)}
          />
        </>
      )}
      <label for="fork-model">Another model</label>
      <input id="fork-model" name="model" placeholder="as before" spellcheck={false} />
      <section aria-label="What may be executed again">
        <h3>What may be executed again</h3>
        {again.length === 0 ? (
          <p class="faint">No call of this run ended after the event.</p>
        ) : (
          <ul class="difference">
            {again.slice(0, SHOWN).map((one) => (
              <li key={one.callId} class="exact line">
                <EffectWord of={one.effect} /> <Text text={one.tool} />{' '}
                <Text text={exactText(one.arguments).slice(0, 200)} />
              </li>
            ))}
            {again.length > SHOWN && <li>and {again.length - SHOWN} more</li>}
          </ul>
        )}
        <p class="faint">Approvals of this run do not count in the fork: it asks again.</p>
      </section>
    </FormDialog>
  );
}
