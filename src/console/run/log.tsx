import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { RunEvent } from '../../core/log/event.js';
import type { FoundTexts } from '../../core/log/find.js';
import { param, setParams } from '../address.js';
import { ask } from '../api/ask.js';
import { useKeys } from '../keys.js';
import { ClockTime } from '../shared/time.js';
import { Trouble } from '../shared/trouble.js';
import { useWork } from '../shared/work.js';
import { exactText } from '../text/exact.js';
import { Text } from '../text/text.js';

const ROW_PX = 28;
/** Rows beyond the edges of what is seen. */
const MARGIN = 12;

/** Where each key leads from a row, of so many. They also act where single keys are off. */
const STEPS: { readonly [key: string]: (at: number, last: number) => number } = {
  ArrowDown: (at) => at + 1,
  ArrowUp: (at) => at - 1,
  Home: () => 0,
  End: (_at, last) => last,
};

const GROUPS = ['model', 'call', 'interruption', 'run', 'segment', 'child', 'mcp'] as const;

interface LogProps {
  readonly id: string;
  readonly events: readonly RunEvent[];
  readonly selected: number | null;
  readonly select: (seq: number) => void;
}

/** What an event says, in one line. */
function lineOf({ data }: RunEvent): string {
  if (data === null) return 'erased';
  if (typeof data !== 'object' || Array.isArray(data)) return exactText(data);
  const { tool, callId, agent, model, output, outcome, error, ...rest } = data as { readonly [name: string]: unknown };
  const named = [tool ?? model ?? agent].flatMap((one) => (typeof one === 'string' ? [one] : []));
  const said = error ?? outcome ?? output ?? rest;
  return [...named, exactText(said)].join('  ').slice(0, 400);
}

/** The events in rows of one height, and only those in sight are drawn. */
export function Log({ id, events, selected, select }: LogProps): JSX.Element {
  const scroller = useRef<HTMLDivElement>(null);
  const [top, setTop] = useState(0);
  const [height, setHeight] = useState(600);
  const [follows, setFollows] = useState(false);
  const group = param('kinds');
  const rows = group === '' ? events : events.filter(({ kind }) => kind.startsWith(`${group}.`));
  const first = Math.max(0, Math.floor(top / ROW_PX) - MARGIN);
  const some = rows.slice(first, first + Math.ceil(height / ROW_PX) + 2 * MARGIN);
  const isDrawn = some.some(({ seq }) => seq === selected);
  useEffect(() => {
    const element = scroller.current;
    if (element === null) return;
    const watch = new ResizeObserver(() => setHeight(element.clientHeight));
    watch.observe(element);
    return () => watch.disconnect();
  }, []);
  useEffect(() => {
    if (follows) scroller.current?.scrollTo(0, rows.length * ROW_PX);
  }, [follows, rows.length]);
  const place = rows.findIndex(({ seq }) => seq === selected);
  useEffect(() => {
    const element = scroller.current;
    if (element === null || place < 0) return;
    const at = place * ROW_PX;
    if (at < element.scrollTop || at + ROW_PX > element.scrollTop + element.clientHeight)
      element.scrollTo(0, Math.max(0, at - element.clientHeight / 2));
  }, [place]);
  return (
    <div class="log">
      <Find id={id} selected={selected} select={select} />
      <div class="filters">
        <label>
          Kinds{' '}
          <select value={group} onChange={(event) => setParams({ kinds: event.currentTarget.value })}>
            <option value="">all</option>
            {GROUPS.map((name) => (
              <option key={name}>{name}</option>
            ))}
          </select>
        </label>
        <span class="faint">
          {rows.length} of {events.length}
        </span>
        <span class="fill" />
        <button type="button" onClick={() => scroller.current?.scrollTo(0, 0)}>
          Top
        </button>
        <button type="button" onClick={() => scroller.current?.scrollTo(0, rows.length * ROW_PX)}>
          End
        </button>
        <button type="button" aria-pressed={follows} onClick={() => setFollows(!follows)}>
          Follow
        </button>
      </div>
      <div
        ref={scroller}
        class="log-rows"
        role="listbox"
        aria-label="Events"
        tabIndex={0}
        aria-activedescendant={isDrawn ? `event-${selected}` : undefined}
        onKeyDown={(event) => {
          const last = rows.length - 1;
          const to = STEPS[event.key]?.(place, last);
          const row = to === undefined ? undefined : rows[Math.min(last, Math.max(0, to))];
          if (row === undefined) return;
          event.preventDefault();
          select(row.seq);
        }}
        onScroll={(event) => {
          setTop(event.currentTarget.scrollTop);
        }}
        onWheel={(event) => event.deltaY < 0 && setFollows(false)}
      >
        <div class="log-height" style={{ height: `${rows.length * ROW_PX}px` }}>
          {some.map((event, at) => (
            <div
              key={event.seq}
              id={`event-${event.seq}`}
              role="option"
              aria-selected={event.seq === selected}
              class="log-row"
              style={{ top: `${(first + at) * ROW_PX}px` }}
              onClick={() => select(event.seq)}
            >
              <span class="number faint">{event.seq}</span>
              <span class="clock">
                <ClockTime at={event.at} />
              </span>
              <span class={`kind kind-${event.kind.split('.')[0]}`}>
                <Text text={event.kind} />
              </span>
              <span class="line exact">
                <Text text={lineOf(event)} />
              </span>
            </div>
          ))}
        </div>
      </div>
    </div>
  );
}

interface FindProps {
  readonly id: string;
  readonly selected: number | null;
  readonly select: (seq: number) => void;
}

type Hits = Pick<FoundTexts, 'items' | 'nextCursor'>;

/** Finds a text in the payloads of the log: as far as the server reads in one request, and then on. */
function Find({ id, selected, select }: FindProps): JSX.Element {
  const wanted = param('q');
  const [hits, setHits] = useState<Hits | null>(null);
  const { busy, trouble, work } = useWork();
  const read = (before: Hits): void =>
    work(async () => {
      const query = { q: wanted, limit: 50, cursor: before.nextCursor ?? undefined };
      const { items, nextCursor } = await ask<FoundTexts>(`runs/${encodeURIComponent(id)}/find`, { query });
      setHits({ items: [...before.items, ...items], nextCursor });
    });
  useEffect(() => {
    setHits(null);
    if (wanted !== '') read({ items: [], nextCursor: null });
  }, [id, wanted]);
  useKeys([{ key: '/', says: 'Find in the log', act: () => document.getElementById('find-text')?.focus() }]);
  return (
    <search>
      <form
        class="row"
        onSubmit={(event) => {
          event.preventDefault();
          const value = new FormData(event.currentTarget).get('q');
          setParams({ q: typeof value === 'string' ? value : '' });
        }}
      >
        <input
          key={wanted}
          id="find-text"
          name="q"
          type="search"
          aria-label="Find in the log"
          placeholder="Find"
          defaultValue={wanted}
        />
        <button type="submit" disabled={busy}>
          Find
        </button>
        {hits !== null && (
          <span class="faint" role="status">
            {hits.items.length === 0 ? 'nothing' : `${hits.items.length} places`}
            {hits.nextCursor !== null && ' so far'}
          </span>
        )}
      </form>
      {trouble !== null && <Trouble error={trouble} />}
      {hits !== null && hits.items.length > 0 && (
        <ul class="hits" aria-label="Places">
          {hits.items.map(({ seq, kind, pointer, before, match, after }) => (
            <li key={`${seq}${pointer}`}>
              <button type="button" class="plain" aria-pressed={seq === selected} onClick={() => select(seq)}>
                <span class="faint">{seq}</span> <Text text={kind} />{' '}
                <span class="exact">
                  <Text text={before} />
                  <mark>
                    <Text text={match} />
                  </mark>
                  <Text text={after} />
                </span>
              </button>
            </li>
          ))}
        </ul>
      )}
      {hits !== null && hits.nextCursor !== null && (
        <button type="button" disabled={busy} onClick={() => read(hits)}>
          Find more
        </button>
      )}
    </search>
  );
}
