import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { InterruptionCounts } from '../../core/interruptions/context.js';
import type { ListedInterruption } from '../../core/interruptions/interruption.js';
import { go, param, params, paramsOf, setParams } from '../address.js';
import { useAnswer } from '../api/query.js';
import { useKeys } from '../keys.js';
import { Unanswered } from '../shared/trouble.js';
import { Typed } from '../shared/typed.js';
import { countText } from '../text/words.js';
import { DecideMany } from './decide-many.js';
import { FirstCard } from './first-card.js';
import { Item } from './item.js';
import { InboxList, type Interruptions } from './list.js';

const SHOWN = 200;
/** What a person settles. */
const FOR_PEOPLE = 'approval,question,budget';
const SETTLED = ['approved', 'rejected', 'answered', 'expired', 'cancelled'] as const;
const KINDS = ['approval', 'question', 'budget', 'timer', 'event', 'child_run'] as const;

/** Waiting: for anyone. Mine: I have approved, and others still must. Decided: it is settled. */
const TABS = {
  waiting: { status: '', voted: '' },
  mine: { status: '', voted: 'me' },
  decided: { status: 'approved', voted: '' },
} as const;
type Tab = keyof typeof TABS;

const tabNow = (): Tab => (param('status') !== '' ? 'decided' : param('voted') !== '' ? 'mine' : 'waiting');

function Tabs(): JSX.Element {
  const { data } = useAnswer<InterruptionCounts>({ path: 'interruptions/counts', every: 2000 });
  const counts: { readonly [T in Tab]?: number | undefined } = { waiting: data?.pending, mine: data?.mine };
  const open = (tab: Tab): void => {
    const { status, voted } = TABS[tab];
    const kept = new URLSearchParams(params.value);
    for (const [name, value] of [
      ['status', status],
      ['voted', voted],
    ] as const)
      if (value === '') kept.delete(name);
      else kept.set(name, value);
    go(`/inbox${kept.size === 0 ? '' : `?${kept}`}`, { replace: true });
  };
  return (
    <nav class="tabs" aria-label="Which">
      {(Object.keys(TABS) as Tab[]).map((tab) => (
        <button key={tab} type="button" aria-pressed={tab === tabNow()} onClick={() => open(tab)}>
          {tab} {counts[tab] !== undefined && <span class="faint">{countText(counts[tab])}</span>}
        </button>
      ))}
    </nav>
  );
}

function Filters(): JSX.Element {
  const select = (name: string, label: string, values: readonly string[], first: string): JSX.Element => (
    <label>
      <span class="unseen">{label}</span>
      <select value={param(name)} onChange={(event) => setParams({ [name]: event.currentTarget.value })}>
        <option value="">{first}</option>
        {values.map((value) => (
          <option key={value} value={value}>
            {value.replace('_', ' ')}
          </option>
        ))}
      </select>
    </label>
  );
  const field = (name: string, label: string): JSX.Element => (
    <Typed name={label} value={param(name)} commit={(text) => setParams({ [name]: text.trim() })} />
  );
  return (
    <div class="filters">
      {tabNow() === 'decided' && select('status', 'Status', SETTLED, 'approved')}
      {select('kind', 'Kind', KINDS, 'for people')}
      {select('order', 'Order', ['age', 'newest', 'deadline'], 'in order')}
      {field('agent', 'Agent')}
      {field('tool', 'Tool')}
    </div>
  );
}

function Empty(): JSX.Element {
  const filtered = Object.keys(paramsOf(['kind', 'agent', 'tool', 'voted']));
  return (
    <section class="empty">
      {filtered.length === 0 ? (
        <>
          <h2>{tabNow() === 'decided' ? `Nothing was ${param('status')} yet` : 'Nothing waits'}</h2>
          {tabNow() === 'waiting' && <p>When a run needs an approval or an answer, it is shown here.</p>}
        </>
      ) : (
        <>
          <h2>Nothing fits the filter</h2>
          <p>
            {filtered.map((name) => (
              <button key={name} type="button" onClick={() => setParams({ [name]: '' })}>
                Remove {name}: {param(name)}
              </button>
            ))}
          </p>
        </>
      )}
    </section>
  );
}

const addressOf = (id: string): string => {
  const query = params.value.toString();
  return `/inbox/${id}${query === '' ? '' : `?${query}`}`;
};

/** What waits for people, by deadline, with one item open. */
export function Page({ id }: { readonly id: string }): JSX.Element {
  const status = param('status') || 'pending';
  const answer = useAnswer<Interruptions>({
    path: 'interruptions',
    query: {
      ...{
        status,
        limit: SHOWN,
        kind: FOR_PEOPLE,
        order: param('order') || (status === 'pending' ? 'deadline' : 'newest'),
      },
      ...paramsOf(['kind', 'agent', 'tool', 'voted']),
    },
    every: 2000,
  });
  const items: readonly ListedInterruption[] = answer.data?.items ?? [];
  const at = items.findIndex((item) => item.id === id);
  const wide = matchMedia('(min-width: 900px)').matches;
  const first = items[0]?.id;
  const card = id === '' && !wide && tabNow() === 'waiting' ? items[0] : undefined;
  useEffect(() => {
    if (id === '' && wide && first !== undefined) go(addressOf(first), { replace: true });
  }, [id, first]);
  const [checked, setChecked] = useState<ReadonlySet<string>>(new Set());
  const check = (one: string): void => {
    const changed = new Set(checked);
    if (!changed.delete(one)) changed.add(one);
    setChecked(changed);
  };
  const step = (by: number): void => {
    const next = items[Math.min(items.length - 1, Math.max(0, at + by))];
    if (next !== undefined) go(addressOf(next.id), { replace: true });
  };
  useKeys([
    { key: 'j', says: 'Next', act: () => step(1) },
    { key: 'k', says: 'Previous', act: () => step(-1) },
    { key: 'n', says: 'Next without deciding', act: () => step(1) },
    { key: 'x', says: 'Select it, to decide several', act: () => id !== '' && check(id) },
  ]);
  // One that is decided leaves the list, perhaps before its answer comes: the next one stands in its place then.
  const place = useRef({ id: '', at: 0 });
  if (at >= 0) place.current = { id, at };
  const after = at >= 0 ? at + 1 : place.current.id === id ? place.current.at : 0;
  const next = items[after] ?? items.find((item) => item.id !== id);
  return (
    <div class={`inbox ${id === '' ? 'at-list' : 'at-item'}`}>
      <h1 class="unseen">Inbox</h1>
      <section class="inbox-side" aria-label="Waiting">
        <Tabs />
        <Filters />
        {answer.data === undefined && <Unanswered answer={answer} />}
        {answer.data !== undefined && items.length === 0 && <Empty />}
        {card !== undefined && (
          <FirstCard
            key={card.id}
            item={card}
            href={addressOf(card.id)}
            isChecked={checked.has(card.id)}
            check={() => check(card.id)}
          />
        )}
        <InboxList
          items={card === undefined ? items : items.slice(1)}
          selected={id}
          open={addressOf}
          checked={checked}
          check={check}
        />
        {answer.data?.nextCursor != null && (
          <p class="note">The first {items.length} are shown. A filter narrows the list.</p>
        )}
        <DecideMany items={items.filter((item) => checked.has(item.id))} clear={() => setChecked(new Set())} />
      </section>
      {id !== '' && (
        <Item
          key={id}
          id={id}
          openNext={() => go(next === undefined ? `/inbox` : addressOf(next.id), { replace: true })}
          back={`/inbox${params.value.toString() === '' ? '' : `?${params.value}`}`}
        />
      )}
    </div>
  );
}
