import { useEffect, useState } from 'preact/hooks';
import type { InterruptionContext } from '../../core/interruptions/context.js';
import type { InterruptionView } from '../../core/interruptions/interruption.js';
import { silentSince } from '../api/query.js';
import { may } from '../session.js';
import { exactText } from '../text/exact.js';
import { hiddenIn, isMixed } from '../text/visible.js';
import type { Act } from './decide.js';

/** So that no press that was meant for the item before decides this one. */
const SETTLING_MS = 400;

/** What each act is called for what waits. */
export function nameOfAct(act: Act, { reason, wait }: InterruptionView): string {
  const unknown = reason.code === 'unknown_effect';
  if (act === 'approve' && wait?.kind === 'budget') return 'Raise';
  if (act === 'approve') return unknown ? 'It did not happen: run it' : 'Approve';
  if (act === 'answer') return unknown ? 'It happened: enter the result' : 'Answer';
  if (act === 'reject' && unknown) return 'Give up';
  return act === 'edit' ? 'Edit' : 'Reject';
}

export const KEY: { readonly [A in Act]: string } = { approve: 'a', edit: 'e', reject: 'r', answer: 'w' };

function actsOf({ status, verdicts, reason }: InterruptionView): readonly Act[] {
  if (status !== 'pending') return [];
  const takesEdits = verdicts.includes('approve') && (reason.code === 'tool_rule' || reason.code === 'grant_ask');
  return [
    ...verdicts.filter((one) => one === 'reject'),
    ...(takesEdits ? ['edit' as const] : []),
    ...verdicts.filter((one) => one !== 'reject'),
  ];
}

/** What is worth a look before one decides. */
export function notesOf(item: InterruptionView, context: InterruptionContext | undefined): readonly string[] {
  const text = exactText(item.arguments);
  const hidden = hiddenIn(text.replaceAll(/\\u[0-9a-f]{4}/gi, ''));
  return [
    ...(hidden > 0 ? [`The arguments have ${hidden} hidden characters. Each is shown by its number.`] : []),
    ...(isMixed(text) ? ['A word has letters that look like others.'] : []),
    ...(item.unfit === null ? [] : [`An approval would be refused: ${item.unfit}`]),
    ...(item.integrity.length === 0
      ? []
      : ['Rows of this interruption do not say what the log says. It cannot be decided.']),
    ...(item.status === 'pending' ? (context?.notes.map(({ detail }) => detail) ?? []) : []),
  ];
}

interface Acts {
  readonly acts: readonly Act[];
  readonly canNow: (act: Act) => boolean;
  /** Why this role cannot decide; null: it can. */
  readonly blocked: string | null;
}

/** What a person can do about what waits. `seen`: its arguments, to their end. `isSettled`: whether its context is read. */
export function useActs(
  item: InterruptionView,
  { seen, isSettled }: { readonly seen: boolean; readonly isSettled: boolean },
): Acts {
  const [settled, setSettled] = useState(false);
  useEffect(() => {
    setSettled(false);
    const timer = setTimeout(() => setSettled(true), SETTLING_MS);
    return () => clearTimeout(timer);
  }, [item.id, item.status, item.digest]);
  const blocked = whyBlocked(item);
  const canNow = (one: Act): boolean =>
    settled &&
    blocked === null &&
    silentSince.value === null &&
    // The schema of the tool makes the form.
    (one !== 'edit' || isSettled) &&
    (one !== 'approve' || (seen && item.unfit === null));
  return { acts: actsOf(item), canNow, blocked };
}

function whyBlocked(item: InterruptionView): string | null {
  if (item.integrity.length > 0) return 'It cannot be decided: its rows do not say what the log says.';
  if (!may('approve')) return 'Needs the role approver.';
  return null;
}
