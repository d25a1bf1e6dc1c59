import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { DecisionCheck } from '../../core/interruptions/context.js';
import type { InterruptionView } from '../../core/interruptions/interruption.js';
import { ask } from '../api/ask.js';
import { Difference } from '../shared/difference.js';
import { exactText, parseExact } from '../text/exact.js';
import { Text } from '../text/text.js';
import { argumentsIn, type EditField, faultIn, fieldsOf, firstText } from './edit-fields.js';

const CHECK_AFTER_MS = 200;

/** The arguments that a form of these fields holds. Throws where a text is no JSON. */
export function editedIn(form: FormData, fields: readonly EditField[] | null): unknown {
  const whole = form.get('arguments');
  if (fields !== null && whole === null) {
    const textOf = (at: number): string | null => {
      const text = form.get(`field-${at}`);
      return text === null ? null : String(text);
    };
    return argumentsIn(fields, textOf);
  }
  try {
    return parseExact(String(whole ?? ''));
  } catch (error) {
    throw new Error(`The arguments are no JSON: ${error instanceof Error ? error.message : String(error)}`);
  }
}

interface EditProps {
  readonly item: InterruptionView;
  readonly schema: object | null;
}

/** The arguments as a form, or as JSON. While they are changed the server says whether they would be taken, and what changes. */
export function EditArguments({ item, schema }: EditProps): JSX.Element {
  const fields = fieldsOf(schema, item.arguments);
  const [asJson, setAsJson] = useState(fields === null);
  const root = useRef<HTMLDivElement>(null);
  const { state, check } = useCheck(item);
  const look = (): void => {
    const form = root.current?.closest('form');
    if (form != null) check(() => editedIn(new FormData(form), asJson ? null : fields));
  };
  return (
    <div ref={root} class="edit" onInput={look}>
      {asJson || fields === null ? (
        <>
          <label for="arguments">Arguments (JSON)</label>
          <textarea
            id="arguments"
            name="arguments"
            class="exact"
            rows={Math.min(18, exactText(item.arguments, 2).split('\n').length + 1)}
            defaultValue={exactText(item.arguments, 2)}
            spellcheck={false}
            autofocus
          />
        </>
      ) : (
        fields.map((field, at) => <Field key={field.name} field={field} at={at} fault={faultOf(state, field.name)} />)
      )}
      {fields !== null && (
        <button type="button" class="plain" onClick={() => setAsJson(!asJson)}>
          {asJson ? 'Edit as a form' : 'Edit as JSON'}
        </button>
      )}
      <Checked state={state} />
    </div>
  );
}

function Field({
  field,
  at,
  fault,
}: {
  readonly field: EditField;
  readonly at: number;
  readonly fault: string | null;
}): JSX.Element {
  const { kind, choices, about } = field;
  const id = `field-${at}`;
  const first = firstText(field);
  const common = {
    ...{ id, name: id, autofocus: at === 0, 'aria-invalid': fault !== null },
    'aria-describedby': `${id}-about`,
  };
  return (
    <div class="field">
      <label for={id}>
        <Text text={field.name} />
      </label>
      {kind === 'boolean' && <input type="checkbox" {...common} defaultChecked={field.value === true} />}
      {kind === 'number' && <input class="exact" inputMode="decimal" {...common} defaultValue={first} />}
      {kind === 'choice' && (
        <select {...common}>
          {!field.given && <option value="">(left out)</option>}
          {choices.map((choice) => (
            <option key={choice} value={choice} selected={choice === first}>
              {choice}
            </option>
          ))}
        </select>
      )}
      {(kind === 'text' || kind === 'json') && (
        <textarea
          class="exact"
          rows={Math.min(8, first.split('\n').length + Math.floor(first.length / 80))}
          spellcheck={false}
          {...common}
          defaultValue={first}
        />
      )}
      <div id={`${id}-about`} class={fault === null ? 'faint' : 'fault'}>
        <Text text={fault ?? (kind === 'json' ? `${about} JSON`.trim() : about)} kind="prose" />
      </div>
    </div>
  );
}

type State = { readonly type: 'untouched' } | { readonly type: 'fault'; readonly text: string } | Answered;
interface Answered {
  readonly type: 'checked';
  readonly check: DecisionCheck;
}

/** What the check says of one argument. */
const faultOf = (state: State, name: string): string | null =>
  state.type === 'checked' ? faultIn(state.check.errors, name) : null;

function Checked({ state }: { readonly state: State }): JSX.Element {
  return (
    <div class="checked" role="status">
      {state.type === 'fault' && (
        <p class="fault">
          <Text text={state.text} kind="prose" />
        </p>
      )}
      {state.type === 'checked' && (
        <>
          {state.check.errors.map(({ code, pointer, detail }) => (
            <p key={pointer + detail} class="fault">
              <code>{code}</code> <Text text={detail} kind="prose" />
            </p>
          ))}
          {state.check.ok && <p class="faint">These arguments would be taken.</p>}
          <Difference of={state.check.difference} />
        </>
      )}
    </div>
  );
}

/** Asks the server about what was typed, when it rests; an answer to what was typed before is not shown. */
function useCheck(item: InterruptionView): { readonly state: State; readonly check: (read: () => unknown) => void } {
  const [state, setState] = useState<State>({ type: 'untouched' });
  const waiting = useRef<ReturnType<typeof setTimeout> | null>(null);
  const asked = useRef<AbortController | null>(null);
  const stop = (): void => {
    if (waiting.current !== null) clearTimeout(waiting.current);
    asked.current?.abort();
  };
  useEffect(() => stop, []);
  const send = async (body: object, signal: AbortSignal): Promise<void> => {
    const path = `interruptions/${encodeURIComponent(item.id)}/check`;
    try {
      const check = await ask<DecisionCheck>(path, { method: 'POST', body, signal });
      setState({ type: 'checked', check });
    } catch (error) {
      if (!signal.aborted) setState({ type: 'fault', text: error instanceof Error ? error.message : String(error) });
    }
  };
  const check = (read: () => unknown): void => {
    stop();
    try {
      const body = { arguments: read(), digest: item.digest };
      const now = new AbortController();
      asked.current = now;
      waiting.current = setTimeout(() => void send(body, now.signal), CHECK_AFTER_MS);
    } catch (error) {
      setState({ type: 'fault', text: error instanceof Error ? error.message : String(error) });
    }
  };
  return { state, check };
}
