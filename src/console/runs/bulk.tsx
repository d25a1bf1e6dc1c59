import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { RunRowView } from '../../core/interruptions/run-rows.js';
import type { Page } from '../../core/page.js';
import type { BulkResult } from '../../core/runs/run-counts.js';
import { ask } from '../api/ask.js';
import { readAgain } from '../api/query.js';
import { may } from '../session.js';
import { Id } from '../shared/id.js';
import { FormDialog } from '../shared/modal.js';
import { Trouble } from '../shared/trouble.js';
import { useRequestKey, useWork } from '../shared/work.js';
import { Text } from '../text/text.js';
import { countText } from '../text/words.js';

/** As many as a request takes. */
const AT_ONCE = 100;
/** From so many on, their number is typed before anything is done. */
const TYPED_FROM = 10;
const MATCHING_MOST = 1000;

type Action = 'cancel' | 'retry';
type Refused = BulkResult['items'][number];

interface BulkProps {
  readonly selected: ReadonlySet<string>;
  readonly select: (ids: ReadonlySet<string>) => void;
  /** What narrows the list, with the text. */
  readonly filter: { readonly [name: string]: string };
}

/** All runs that fit a filter, newest first, up to a bound. */
async function matching(filter: BulkProps['filter']): Promise<ReadonlySet<string>> {
  const ids = new Set<string>();
  for (let cursor: string | null = ''; cursor !== null && ids.size < MATCHING_MOST; ) {
    const query: Record<string, string | number> = { ...filter, limit: 200, ...(cursor === '' ? {} : { cursor }) };
    const page: Page<RunRowView> = await ask<Page<RunRowView>>('runs/rows', { query });
    for (const { id } of page.items) if (ids.size < MATCHING_MOST) ids.add(id);
    cursor = page.nextCursor;
  }
  return ids;
}

/** What can be done with the runs that are selected. It stands there as soon as one is. */
export function Bulk({ selected, select, filter }: BulkProps): JSX.Element | null {
  const [action, setAction] = useState<Action | null>(null);
  const { busy, trouble, work } = useWork();
  if (selected.size === 0) return null;
  const allowed = may('bulkRuns');
  const all = (): void => work(async () => select(await matching(filter)));
  return (
    <div class="bulk row wrap" role="region" aria-label="Selected runs">
      <strong>{countText(selected.size)} selected</strong>
      <button type="button" disabled={!allowed} onClick={() => setAction('cancel')}>
        Cancel
      </button>
      <button type="button" disabled={!allowed} onClick={() => setAction('retry')}>
        Retry
      </button>
      {!allowed && <span class="faint">Needs the role operator.</span>}
      <span class="fill" />
      <button type="button" class="plain" disabled={busy} onClick={all}>
        Select all that fit
      </button>
      <button type="button" class="plain" onClick={() => select(new Set())}>
        Select none
      </button>
      {selected.size >= MATCHING_MOST && (
        <p class="note">No more than {countText(MATCHING_MOST)} are selected at once.</p>
      )}
      {trouble !== null && <Trouble error={trouble} />}
      {action !== null && <Act action={action} ids={[...selected]} close={() => setAction(null)} />}
    </div>
  );
}

interface ActProps {
  readonly action: Action;
  readonly ids: readonly string[];
  readonly close: () => void;
}

function Act({ action, ids, close }: ActProps): JSX.Element {
  const keyOf = useRequestKey();
  const [done, setDone] = useState<readonly Refused[]>([]);
  const count = countText(ids.length);
  const name = `${action === 'cancel' ? 'Cancel' : 'Retry'} ${count} ${ids.length === 1 ? 'run' : 'runs'}`;
  const refused = done.filter(({ error }) => error !== null);
  const submit = async (form: FormData): Promise<void> => {
    if (ids.length >= TYPED_FROM && String(form.get('count') ?? '').trim() !== String(ids.length))
      throw new Error(`Type ${ids.length} to confirm.`);
    const answered: Refused[] = [];
    for (let at = 0; at < ids.length; at += AT_ONCE) {
      const body = { action, ids: ids.slice(at, at + AT_ONCE) };
      const { items } = await ask<BulkResult>('runs/bulk', { method: 'POST', body, key: keyOf(body) });
      answered.push(...items);
      setDone([...answered]);
    }
    readAgain('runs');
    readAgain('interruptions');
    readAgain('tasks');
    const bad = answered.filter(({ error }) => error !== null).length;
    if (bad > 0) throw new Error(`${bad} of ${ids.length} were refused. The others are done.`);
  };
  return (
    <FormDialog
      title={`${name}?`}
      verb={name}
      tone={action === 'cancel' ? 'danger' : 'first'}
      submit={submit}
      close={close}
    >
      <p>
        {action === 'cancel'
          ? 'Each stops before its next call. What was done stays done.'
          : 'For each failed run, a new run goes on from its last good point.'}
      </p>
      {ids.length >= TYPED_FROM && (
        <>
          <label for="count">Type {ids.length} to confirm</label>
          <input id="count" name="count" inputMode="numeric" required autocomplete="off" autofocus />
        </>
      )}
      {done.length > 0 && (
        <p role="status">
          <progress max={ids.length} value={done.length} aria-label="Progress" /> {countText(done.length)} of {count}
        </p>
      )}
      {refused.length > 0 && (
        <ul class="difference">
          {refused.slice(0, 20).map(({ id, error }) => (
            <li key={id}>
              <Id id={id} /> <code>{error?.code}</code> <Text text={error?.detail ?? ''} kind="prose" />
            </li>
          ))}
          {refused.length > 20 && <li>and {refused.length - 20} more</li>}
        </ul>
      )}
    </FormDialog>
  );
}
