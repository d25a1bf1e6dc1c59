import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { InterruptionContext } from '../../core/interruptions/context.js';
import type { DecidedMany, InterruptionView } from '../../core/interruptions/interruption.js';
import { ask } from '../api/ask.js';
import { readAgain, useAnswer } from '../api/query.js';
import { may } from '../session.js';
import { FormDialog } from '../shared/modal.js';
import { Trouble } from '../shared/trouble.js';
import { exactText } from '../text/exact.js';
import { Json } from '../text/json.js';
import { Text } from '../text/text.js';
import { hiddenIn, isMixed } from '../text/visible.js';
import { titleOf } from './list.js';

/** Whether an item may be decided with others: an approval of a call that has nothing odd. */
export const isPlain = ({ kind, status, reason, integrity, unfit }: InterruptionView): boolean =>
  status === 'pending' &&
  kind === 'approval' &&
  reason.code !== 'unknown_effect' &&
  integrity.length === 0 &&
  unfit === null;

/** Why items are not decided together; null: they may be. */
export function whyNotTogether(items: readonly InterruptionView[]): string | null {
  const [first] = items;
  if (items.some((item) => !isPlain(item))) return 'Only approvals of calls are decided together.';
  if (items.some(({ tool }) => tool !== first?.tool)) return 'They are calls of several tools.';
  const needs = ({ capabilities }: InterruptionView): string => exactText(capabilities);
  if (first !== undefined && items.some((item) => needs(item) !== needs(first)))
    return 'Their calls need different capabilities.';
  return null;
}

interface ManyProps {
  readonly items: readonly InterruptionView[];
  readonly clear: () => void;
}

/** What stands at the foot of the list when some are selected. */
export function DecideMany({ items, clear }: ManyProps): JSX.Element | null {
  const [verdict, setVerdict] = useState<'approve' | 'reject' | null>(null);
  if (items.length === 0 && verdict === null) return null;
  const why = may('decideMany') ? whyNotTogether(items) : 'Needs the role approver.';
  return (
    <section class="bulk" aria-label="Selected">
      <p class="row wrap">
        <strong>{items.length} selected</strong>
        <button type="button" disabled={why !== null} onClick={() => setVerdict('approve')}>
          Approve {items.length}
        </button>
        <button type="button" disabled={why !== null} onClick={() => setVerdict('reject')}>
          Reject {items.length}
        </button>
        <span class="fill" />
        <button type="button" class="plain" onClick={clear}>
          Clear
        </button>
      </p>
      {why !== null && <p class="note">{why}</p>}
      {verdict !== null && (
        <Confirm
          items={items}
          verdict={verdict}
          close={(decided) => {
            setVerdict(null);
            if (decided) clear();
          }}
        />
      )}
    </section>
  );
}

interface ConfirmProps {
  readonly items: readonly InterruptionView[];
  readonly verdict: 'approve' | 'reject';
  readonly close: (decided: boolean) => void;
}

function Confirm({ items: selected, verdict, close }: ConfirmProps): JSX.Element {
  // What is confirmed stays what was shown.
  const [items] = useState(selected);
  const [result, setResult] = useState<DecidedMany | null>(null);
  /** Of each that is shown, whether something about it is odd. */
  const [shown, setShown] = useState<ReadonlyMap<string, boolean>>(new Map());
  const tell = (id: string, isOdd: boolean): void => setShown((before) => new Map([...before, [id, isOdd]]));
  const name = `${verdict === 'approve' ? 'Approve' : 'Reject'} ${items.length}`;
  const submit = async (form: FormData): Promise<void> => {
    const unseen = items.filter(({ id }) => !shown.has(id)).length;
    if (unseen > 0) throw new Error(`${unseen} of them are not shown yet.`);
    const odd = items.filter(({ id }) => shown.get(id) === true).length;
    if (verdict === 'approve' && odd > 0)
      throw new Error(`${odd} of them have something to look at. Decide these by themselves.`);
    const message = String(form.get('message') ?? '').trim();
    const body = {
      verdict,
      items: items.map(({ id, digest }) => ({ id, digest })),
      ...(message === '' ? {} : { message }),
    };
    const decided = await ask<DecidedMany>('interruptions/decide', { method: 'POST', body });
    setResult(decided);
    readAgain('interruptions');
    readAgain('runs');
    const refused = decided.items.filter(({ error }) => error !== null);
    if (refused.length > 0) throw new Error(`${refused.length} of ${items.length} were refused.`);
  };
  return (
    <FormDialog
      title={`${name}?`}
      verb={name}
      tone={verdict === 'approve' ? 'first' : 'danger'}
      submit={submit}
      close={() => close(result !== null)}
    >
      <ol class="many">
        {items.map((item) => (
          <li key={item.id} class="card">
            <p class="strong">
              <Text text={titleOf(item)} />
            </p>
            <Whole item={item} tell={tell} />
            {result?.items.map(
              ({ id, error }) =>
                id === item.id &&
                error !== null && (
                  <p key={id} class="outcome-bad">
                    <code>{error.code}</code> <Text text={error.detail} kind="prose" />
                  </p>
                ),
            )}
          </li>
        ))}
      </ol>
      <label for="many-message">Message of each</label>
      <textarea id="many-message" name="message" rows={2} maxLength={8192} dir="auto" autofocus />
    </FormDialog>
  );
}

/** All arguments of one, with its oddities. */
function Whole({
  item,
  tell,
}: {
  readonly item: InterruptionView;
  readonly tell: (id: string, isOdd: boolean) => void;
}): JSX.Element {
  const path = `interruptions/${encodeURIComponent(item.id)}`;
  const whole = useAnswer<InterruptionView>({ path });
  const context = useAnswer<InterruptionContext>({ path: `${path}/context` });
  const failed = whole.error ?? context.error;
  const text = exactText(whole.data?.arguments ?? null);
  const notes = [
    ...(context.data?.notes.map(({ detail }) => detail) ?? []),
    ...(hiddenIn(text) > 0 || isMixed(text) ? ['It has hidden characters, or words of mixed scripts.'] : []),
    ...(whole.data !== undefined && whole.data.digest !== item.digest ? ['It has changed since it was selected.'] : []),
  ];
  const isOdd = failed !== null || notes.length > 0;
  const isShown = failed !== null || (whole.data !== undefined && context.data !== undefined);
  useEffect(() => {
    if (isShown) tell(item.id, isOdd);
  }, [isShown, isOdd]);
  if (failed !== null) return <Trouble error={failed} />;
  if (whole.data === undefined || context.data === undefined) return <div class="loading" />;
  return (
    <>
      <Json value={whole.data.arguments} whole />
      {notes.map((note) => (
        <p key={note} class="warnings">
          <Text text={note} kind="prose" />
        </p>
      ))}
    </>
  );
}
