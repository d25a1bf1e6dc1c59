import type { JSX } from 'preact';
import type { SessionView } from '../../core/agents/session.js';
import type { Page as PageOf } from '../../core/page.js';
import { param, setParams } from '../address.js';
import { useAnswer } from '../api/query.js';
import { ChangedRows } from '../shared/changed-rows.js';
import { Id } from '../shared/id.js';
import { Pager, Table } from '../shared/table.js';
import { Time } from '../shared/time.js';
import { Unanswered } from '../shared/trouble.js';
import { Text } from '../text/text.js';
import { countText } from '../text/words.js';
import { Exports } from './exports.js';
import { Review } from './review.js';

const TABS = { exports: Exports, review: Review, sessions: Sessions } as const;
type Tab = keyof typeof TABS;
const NAMES: readonly (readonly [tab: Tab, name: string])[] = [
  ['exports', 'Exports'],
  ['review', 'Review'],
  ['sessions', 'Sessions'],
];

const isTab = (text: string): text is Tab => Object.hasOwn(TABS, text);

/** Exports, trajectories that a person judges, and sessions. */
export function Page(): JSX.Element {
  const tab: Tab = isTab(param('tab')) ? (param('tab') as Tab) : 'exports';
  const Shown = TABS[tab];
  const open = (to: Tab): void => setParams({ tab: to === 'exports' ? '' : to, at: '' });
  return (
    <div class="page">
      <h1>Data</h1>
      <nav class="tabs" aria-label="Data">
        {NAMES.map(([to, name]) => (
          <button key={to} type="button" aria-pressed={to === tab} onClick={() => open(to)}>
            {name}
          </button>
        ))}
      </nav>
      <Shown />
    </div>
  );
}

const COLUMNS = { Session: 'text', Items: 'number', Bytes: 'number', 'Run in it': 'text', Changed: 'text' } as const;

/** Conversations, newest first. */
export function Sessions(): JSX.Element {
  const cursor = param('cursor');
  const query = { limit: 50, ...(cursor === '' ? {} : { cursor }) };
  const answer = useAnswer<PageOf<SessionView>>({ path: 'sessions', query, every: 5000 });
  if (answer.data === undefined) return <Unanswered answer={answer} />;
  const { items, unreadable, nextCursor } = answer.data;
  if (items.length === 0 && unreadable === undefined)
    return (
      <section class="empty">
        <h2>No session yet</h2>
        <p>A run that is started with a session goes on with what was said in it.</p>
      </section>
    );
  return (
    <>
      <ChangedRows rows={unreadable} />
      <Table name="Sessions" columns={COLUMNS}>
        {items.map(({ id, items: count, bytes, runId, updatedAt }) => (
          <tr key={id}>
            <td>
              <a href={`/sessions/${encodeURIComponent(id)}`}>
                <Text text={id} />
              </a>
            </td>
            <td class="number">{countText(count)}</td>
            <td class="number">{countText(bytes)}</td>
            <td>{runId === null ? '–' : <Id id={runId} href={`/runs/${runId}`} />}</td>
            <td>
              <Time at={updatedAt} />
            </td>
          </tr>
        ))}
      </Table>
      <Pager next={nextCursor} />
    </>
  );
}
