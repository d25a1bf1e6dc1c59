import type { JSX } from 'preact';
import type { RunStatus } from '../../core/runs/run.js';
import type { RunCounts } from '../../core/runs/run-counts.js';
import { param, setParams } from '../address.js';
import { RUN_STATUSES } from '../shared/status.js';
import { Typed } from '../shared/typed.js';
import { Text } from '../text/text.js';
import { countText } from '../text/words.js';

/** What narrows the list, as the API names it. */
export const FILTERS = [
  ...(['status', 'agent', 'error', 'session', 'subject', 'parent'] as const),
  ...(['from', 'to', 'tag', 'task', 'model', 'waiting'] as const),
] as const;
/** Counting stops there. */
const COUNTED_MOST = 10_000;

const HOUR_MS = 3_600_000;
const RANGES = [
  ['an hour', HOUR_MS],
  ['a day', 24 * HOUR_MS],
  ['a week', 168 * HOUR_MS],
] as const;

const KINDS = ['approval', 'question', 'budget', 'event', 'timer', 'child_run'] as const;
const ORDERS = { '': 'newest first', cost: 'dearest first', duration: 'longest first' } as const;

const SINCE = /^since:(\d{1,4})([mhdw])$/;
const UNIT_MS: { readonly [unit: string]: number } = { m: 60_000, h: HOUR_MS, d: 24 * HOUR_MS, w: 168 * HOUR_MS };
const within = (ms: number): string => new Date(Date.now() - ms).toISOString();

/** What was typed: each word such as `model:gpt-5` or `since:1h` narrows by its name, and the rest is a text. */
function narrow(typed: string): void {
  const words = typed.trim().split(/\s+/);
  const named = words.flatMap((word) => {
    const [, count = '', unit = ''] = SINCE.exec(word) ?? [];
    if (unit !== '') return [{ word, name: 'from', value: within(Number(count) * (UNIT_MS[unit] ?? 0)) }];
    const at = word.indexOf(':');
    const name = FILTERS.find((one) => one === word.slice(0, at));
    return name === undefined ? [] : [{ word, name, value: word.slice(at + 1) }];
  });
  const q = words.filter((word) => !named.some((one) => one.word === word)).join(' ');
  setParams({ q, cursor: '', ...Object.fromEntries(named.map(({ name, value }) => [name, value])) });
}

/** The status in a chip, with how many runs have it; what is typed or chosen beside it. */
export function Filters({ counts }: { readonly counts: RunCounts | undefined }): JSX.Element {
  return (
    <div class="filters">
      <div class="chips" role="group" aria-label="Status">
        {['', ...RUN_STATUSES].map((status) => (
          <button
            key={status}
            type="button"
            class="chip"
            aria-pressed={param('status') === status}
            onClick={() => setParams({ status, cursor: '' })}
          >
            {status === '' ? 'all' : status}
            {counts !== undefined && isStatus(status) && counts.byStatus[status] > 0 && (
              <span class="faint">
                {' '}
                {countText(counts.byStatus[status])}
                {counts.byStatus[status] === COUNTED_MOST && '+'}
              </span>
            )}
          </button>
        ))}
      </div>
      <Typed
        id="text-filter"
        name="Text of the input, or id"
        placeholder="Text, id, tag:…, since:1h  /"
        isSearch
        value={param('q')}
        commit={narrow}
      />
      <Typed
        id="agent-filter"
        name="Agent"
        value={param('agent')}
        commit={(text) => setParams({ agent: text.trim(), cursor: '' })}
      />
      <select
        aria-label="Made"
        value=""
        onChange={({ currentTarget: { value } }) =>
          value !== '' && setParams({ from: within(Number(value)), cursor: '' })
        }
      >
        <option value="">made at any time</option>
        {RANGES.map(([name, ms]) => (
          <option key={name} value={ms}>
            made within {name}
          </option>
        ))}
      </select>
      <select
        aria-label="Waits for"
        value={param('waiting')}
        onChange={({ currentTarget: { value } }) => setParams({ waiting: value, cursor: '' })}
      >
        <option value="">whatever it waits for</option>
        {KINDS.map((kind) => (
          <option key={kind} value={kind}>
            waits for {kind.replace('_', ' ')}
          </option>
        ))}
      </select>
      <select
        aria-label="Order"
        value={param('order')}
        onChange={({ currentTarget: { value } }) => setParams({ order: value, cursor: '' })}
      >
        {Object.entries(ORDERS).map(([order, name]) => (
          <option key={order} value={order}>
            {name}
          </option>
        ))}
      </select>
      {counts?.byError.slice(0, 3).map(
        ({ name, count }) =>
          param('error') === '' && (
            <button key={name} type="button" class="chip" onClick={() => setParams({ error: name, cursor: '' })}>
              <code>{name}</code> × {countText(count)}
            </button>
          ),
      )}
      {FILTERS.slice(2)
        .filter((name) => param(name) !== '')
        .map((name) => (
          <button key={name} type="button" class="chip" onClick={() => setParams({ [name]: '', cursor: '' })}>
            {name}: <Text text={param(name)} /> ✕
          </button>
        ))}
    </div>
  );
}

const isStatus = (text: string): text is RunStatus => RUN_STATUSES.some((status) => status === text);
