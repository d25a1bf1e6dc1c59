import type { JSX } from 'preact';
import { param, setParams } from '../address.js';
import { Exports } from './exports.js';
import { Review } from './review.js';
import { Sessions } from './sessions.js';

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
