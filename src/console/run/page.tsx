import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import type { RunEvent } from '../../core/log/event.js';
import type { ReadRun } from '../../core/queue/queue-wait.js';
import { param, setParams } from '../address.js';
import { useEvents } from '../api/live.js';
import { readAgain, useAnswer } from '../api/query.js';
import { useKeys } from '../keys.js';
import { Copy } from '../shared/id.js';
import { lazyView } from '../shared/loaded.js';
import { isOver } from '../shared/status.js';
import { ClockTime } from '../shared/time.js';
import { Trouble, Unanswered } from '../shared/trouble.js';
import { Json } from '../text/json.js';
import { Text } from '../text/text.js';
import { Header } from './header.js';
import { Log } from './log.js';
import { Story } from './story.js';

const Cost = lazyView(() => import('./cost.js'));
const Evidence = lazyView(() => import('./evidence.js'));
const Replay = lazyView(() => import('./replay.js'));
const Trajectory = lazyView(() => import('./trajectory.js'));

const VIEWS = ['story', 'log', 'trajectory', 'cost', 'evidence', 'replay'] as const;
type View = (typeof VIEWS)[number];

const isView = (text: string): text is View => VIEWS.some((view) => view === text);
const QUIET_MS = 300;
const FAILURE = /^(run\.failed|model\.failed|call\.unknown)$/;

/** One run: how it stands and why, then what happened in it. */
export function Page({ id }: { readonly id: string }): JSX.Element {
  const path = `runs/${encodeURIComponent(id)}`;
  const answer = useAnswer<ReadRun>({ path, every: 2000 });
  const run = answer.data;
  const live = useEvents(id, run?.erasedAt ?? null);
  const { events } = live;
  const last = events.length;
  const news = Math.ceil(last / 4);
  useEffect(() => {
    if (news === 0) return;
    // Once the log has been quiet for a moment: a long one that is loaded asks once.
    const timer = setTimeout(() => readAgain(path), QUIET_MS);
    return () => clearTimeout(timer);
  }, [news]);
  const view: View = isView(param('view')) ? (param('view') as View) : 'story';
  const selected = Number(param('event')) || null;
  const event = events.find(({ seq }) => seq === selected);
  const select = (seq: number): void => setParams({ event: String(seq) });
  const step = (by: number): void => {
    const seq = Math.min(last, Math.max(1, (selected ?? 0) + by));
    if (last > 0) select(seq);
  };
  const failure = (): void => {
    const found = events.find(({ kind, seq }) => FAILURE.test(kind) && seq > (selected ?? 0));
    if (found !== undefined) select(found.seq);
  };
  useKeys([
    ...VIEWS.map((name, at) => ({
      key: String(at + 1),
      says: name,
      act: () => setParams({ view: name === 'story' ? '' : name }),
    })),
    { key: 'j', says: 'Next event', act: () => step(1) },
    { key: 'k', says: 'Previous event', act: () => step(-1) },
    { key: 'n', says: 'Next failure', act: failure },
    { key: 'Escape', says: 'Close the event', act: () => setParams({ event: '' }) },
  ]);
  if (run === undefined)
    return (
      <div class="page">
        <Unanswered answer={answer} />
      </div>
    );
  return (
    <div class="page run">
      <Header run={run} events={events} />
      <nav class="tabs" aria-label="Views">
        {VIEWS.map((name, at) => (
          <button
            key={name}
            type="button"
            aria-pressed={name === view}
            onClick={() => setParams({ view: name === 'story' ? '' : name })}
          >
            {name} {name === 'log' && <span class="faint">{last}</span>} <kbd>{at + 1}</kbd>
          </button>
        ))}
        <span class="fill" />
        {!live.ended && !isOver(run.status) && <span class="live">● live</span>}
      </nav>
      {live.error !== null && events.length === 0 && <Trouble error={live.error} />}
      <div class={event === undefined ? 'views' : 'views with-pane'}>
        <div class="view">
          {view === 'story' && <Story events={events} said={live.said} select={select} />}
          {view === 'log' && <Log id={id} events={events} selected={selected} select={select} />}
          {view === 'trajectory' && <Trajectory id={id} />}
          {view === 'cost' && <Cost id={id} run={run} />}
          {view === 'evidence' && <Evidence id={id} />}
          {view === 'replay' && <Replay id={id} />}
        </div>
        {event !== undefined && <EventPane event={event} close={() => setParams({ event: '' })} />}
      </div>
    </div>
  );
}

/** One event, whole. */
export function EventPane({ event, close }: { readonly event: RunEvent; readonly close: () => void }): JSX.Element {
  const pane = useRef<HTMLElement>(null);
  // On a narrow screen it stands below what it was chosen from.
  useEffect(() => {
    if (pane.current !== null && pane.current.getBoundingClientRect().top >= innerHeight)
      pane.current.scrollIntoView({ block: 'start' });
  }, [event.seq]);
  return (
    <aside ref={pane} class="event-pane" aria-label={`Event ${event.seq}`}>
      <p class="row">
        <strong>
          {event.seq} <Text text={event.kind} />
        </strong>
        <span class="fill" />
        <Copy text={() => location.href} name="Copy link" />
        <button type="button" class="plain" onClick={close} aria-label="Close">
          ✕
        </button>
      </p>
      <p class="faint">
        <ClockTime at={event.at} />
      </p>
      {event.data === null ? <p class="note">The payload was erased.</p> : <Json value={event.data} />}
      <details>
        <summary>Hashes</summary>
        <dl class="facts">
          {(['hash', 'prevHash', 'dataHash', 'stateHashBefore', 'stateHashAfter'] as const).map((name) => (
            <div key={name} class="contents">
              <dt>{name}</dt>
              <dd class="exact">
                <Text text={event[name]} />
              </dd>
            </div>
          ))}
          <dt>parentId</dt>
          <dd class="exact">
            <Text text={event.parentId ?? 'none'} />
          </dd>
        </dl>
      </details>
    </aside>
  );
}
