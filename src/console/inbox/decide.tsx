import type { JSX } from 'preact';
import { useRef, useState } from 'preact/hooks';
import type { InterruptionView } from '../../core/interruptions/interruption.js';
import { ask } from '../api/ask.js';
import { cache, keyOf, readAgain } from '../api/query.js';
import { FormDialog } from '../shared/modal.js';
import { parseExact } from '../text/exact.js';
import { Json } from '../text/json.js';
import { Text } from '../text/text.js';
import { EditArguments, editedIn } from './edit.js';
import { fieldsOf } from './edit-fields.js';
import { titleOf } from './list.js';

export type Act = 'approve' | 'edit' | 'reject' | 'answer';

interface DecideProps {
  readonly item: InterruptionView;
  readonly act: Act;
  readonly name: string;
  /** The JSON schema of the arguments; null: it is not known. */
  readonly schema: object | null;
  readonly close: (decided: boolean) => void;
}

const verdictOf = (act: Act): string => (act === 'edit' ? 'approve' : act);

/** The dialog that confirms a decision. It sends the digest of what was read. */
export function Decide({ item: opened, act, name, schema, close }: DecideProps): JSX.Element {
  // What is decided stays what was shown: the server refuses it where it has changed meanwhile.
  const [item] = useState(opened);
  const settled = useRef(false);
  const path = `interruptions/${encodeURIComponent(item.id)}`;
  const submit = async (form: FormData): Promise<void> => {
    try {
      const body = bodyOf(item, act, form, schema);
      const decided = await ask<InterruptionView>(`${path}/${verdictOf(act)}`, { method: 'POST', body });
      cache.setQueryData(keyOf({ path }), decided);
      settled.current = decided.status !== 'pending';
      readAgain('interruptions');
      readAgain('runs');
      if (item.tool === 'apply_patch') readAgain('evolution');
    } catch (error) {
      readAgain(path);
      throw error;
    }
  };
  return (
    <FormDialog
      title={`${name}?`}
      verb={name}
      tone={act === 'reject' ? 'danger' : 'first'}
      isReady={act === 'approve'}
      submit={submit}
      close={() => close(settled.current)}
    >
      <p class="sentence">
        <Text text={titleOf(item)} kind="prose" />
      </p>
      <Fields item={item} act={act} schema={schema} />
      <label for="message">{act === 'reject' ? 'Message that the model reads' : 'Message (the log keeps it)'}</label>
      <textarea id="message" name="message" rows={2} maxLength={8192} dir="auto" autofocus={act === 'reject'} />
      <p class="faint">
        Bound to <span class="exact">{item.digest.slice(0, 19)}…</span>
      </p>
    </FormDialog>
  );
}

function Fields({ item, act, schema }: Pick<DecideProps, 'item' | 'act' | 'schema'>): JSX.Element | null {
  const { wait } = item;
  if (act === 'edit') return <EditArguments item={item} schema={schema} />;
  if (act === 'answer' && wait?.kind === 'question' && wait.choices !== null)
    return (
      <fieldset>
        <legend>Answer</legend>
        {wait.choices.map((choice, at) => (
          <label key={choice} class="choice">
            <input type="radio" name="choice" value={choice} required autofocus={at === 0} /> <Text text={choice} />
          </label>
        ))}
      </fieldset>
    );
  if (act === 'answer') {
    const isText = wait?.kind === 'question' && wait.schema === null;
    return (
      <>
        <label for="value">{isText ? 'Answer' : 'Result (JSON)'}</label>
        <textarea
          id="value"
          name={isText ? 'text' : 'value'}
          rows={4}
          required
          dir="auto"
          class={isText ? '' : 'exact'}
          autofocus
        />
      </>
    );
  }
  if (act === 'approve' && wait?.kind === 'budget')
    return (
      <>
        <label for="usd">New limit in dollars</label>
        <input id="usd" name="usd" required inputMode="decimal" autofocus />
      </>
    );
  if (act === 'approve' && item.arguments !== null) return <Json value={item.arguments} whole />;
  return null;
}

/** What is sent. Throws where a text is no JSON. */
function bodyOf(item: InterruptionView, act: Act, form: FormData, schema: object | null): object {
  const { digest, wait } = item;
  const textOf = (name: string): string => String(form.get(name) ?? '');
  const message = textOf('message').trim();
  const common = { digest, ...(message === '' ? {} : { message }) };
  if (act === 'edit') return { ...common, arguments: editedIn(form, fieldsOf(schema, item.arguments)) };
  if (act === 'answer') {
    if (form.has('choice')) return { ...common, value: textOf('choice') };
    return { ...common, value: form.has('text') ? textOf('text') : jsonIn(textOf('value'), 'The result is') };
  }
  if (act === 'approve' && wait?.kind === 'budget') return { ...common, budget: { usd: textOf('usd').trim() } };
  return common;
}

function jsonIn(text: string, what: string): unknown {
  try {
    return parseExact(text);
  } catch (error) {
    throw new Error(`${what} no JSON: ${error instanceof Error ? error.message : String(error)}`);
  }
}
