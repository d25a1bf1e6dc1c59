import type { JSX } from 'preact';
import { useRef, useState } from 'preact/hooks';
import type { RunRowView } from '../../core/interruptions/run-rows.js';
import type { Page as PageOf } from '../../core/page.js';
import type { RunStatus } from '../../core/runs/run.js';
import type { RunCounts } from '../../core/runs/run-counts.js';
import { go, param, paramsOf, setParams } from '../address.js';
import { useAnswer } from '../api/query.js';
import { useKeys } from '../keys.js';
import { Pager } from '../shared/pager.js';
import { RUN_STATUSES, RunMark } from '../shared/status.js';
import { Table } from '../shared/table.js';
import { Time } from '../shared/time.js';
import { Unanswered } from '../shared/unanswered.js';
import { Text } from '../text/text.js';
import { countText, durationText, shortId, usdText } from '../text/words.js';
import { Bulk } from './bulk.js';
import { LastDay } from './last-day.js';

const FILTERS = ['status', 'agent', 'error', 'session', 'subject', 'parent', 'from', 'to'] as const;
const LIMIT = 50;
/** Counting stops there. */
const COUNTED_MOST = 10_000;

const COLUMNS = {
  Select: 'unseen',
  Status: 'text',
  Run: 'text',
  Agent: 'text',
  Input: 'text',
  Turns: 'number',
  Tokens: 'number',
  Cost: 'number',
  Took: 'number',
  Started: 'text',
} as const;

const lasted = ({ createdAt, completedAt }: RunRowView): string =>
  completedAt === null ? '' : durationText(Date.parse(completedAt) - Date.parse(createdAt));

interface RowProps {
  readonly run: RunRowView;
  /** Whether the keys are at this row. */
  readonly isAt: boolean;
  readonly isSelected: boolean;
  readonly select: () => void;
}

const Row = ({ run, isAt, isSelected, select }: RowProps): JSX.Element => (
  <tr class={isAt ? 'selected' : undefined}>
    <td>
      <input type="checkbox" aria-label={`Select ${shortId(run.id)}`} checked={isSelected} onChange={select} />
    </td>
    <td>
      <RunMark status={run.status} />
      {run.errorCode !== null && (
        <code class="faint">
          <Text text={run.errorCode} />
        </code>
      )}
      {run.waitingFor !== null && (
        <span class="faint">
          {' '}
          {run.waitingFor.kind.replace('_', ' ')}
          {run.waitingFor.count > 1 && ` × ${run.waitingFor.count}`} <Time at={run.waitingFor.oldestAt} />
        </span>
      )}
    </td>
    <td>
      <a href={`/runs/${run.id}`} title={run.id} class="exact">
        <Text text={shortId(run.id)} />
      </a>
    </td>
    <td>
      <Text text={run.agent} />
    </td>
    <td class="wide">
      <span class="line">
        <Text text={run.inputPreview} kind="prose" />
      </span>
    </td>
    <td class="number">{run.turns}</td>
    <td class="number">{countText(run.totalTokens)}</td>
    <td class="number" title={usdText(run.costUsd)}>
      {usdText(run.costUsd, 4)}
    </td>
    <td class="number">{lasted(run)}</td>
    <td>
      <Time at={run.createdAt} />
    </td>
  </tr>
);

const HOUR_MS = 3_600_000;
const RANGES = [
  ['an hour', HOUR_MS],
  ['a day', 24 * HOUR_MS],
  ['a week', 168 * HOUR_MS],
] as const;

/** The status in a chip, with how many runs have it. */
function Filters({ counts }: { readonly counts: RunCounts | undefined }): JSX.Element {
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
      <input
        id="text-filter"
        aria-label="Text of the input, or id"
        placeholder="Text or id  /"
        type="search"
        value={param('q')}
        spellcheck={false}
        onChange={(event) => setParams({ q: event.currentTarget.value.trim(), cursor: '' })}
      />
      <input
        id="agent-filter"
        aria-label="Agent"
        placeholder="Agent"
        value={param('agent')}
        spellcheck={false}
        onChange={(event) => setParams({ agent: event.currentTarget.value.trim(), cursor: '' })}
      />
      <select
        aria-label="Made"
        value=""
        onChange={({ currentTarget: { value } }) =>
          value !== '' && setParams({ from: new Date(Date.now() - Number(value)).toISOString(), cursor: '' })
        }
      >
        <option value="">made at any time</option>
        {RANGES.map(([name, ms]) => (
          <option key={name} value={ms}>
            made within {name}
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
          <button key={name} type="button" class="chip" onClick={() => setParams({ [name]: '' })}>
            {name}: <Text text={param(name)} /> ✕
          </button>
        ))}
    </div>
  );
}

const isStatus = (text: string): text is RunStatus => RUN_STATUSES.some((status) => status === text);

function withoutStatus({ status: _status, ...filter }: { readonly [name: string]: string }) {
  return filter;
}

/** Runs, newest first. Those that begin while the page is read wait behind a button. */
export function Page(): JSX.Element {
  const cursor = param('cursor');
  const filter = paramsOf(FILTERS);
  const wanted = param('q');
  const narrowed: { readonly [name: string]: string } = wanted === '' ? filter : { ...filter, q: wanted };
  const answer = useAnswer<PageOf<RunRowView>>({
    path: 'runs/rows',
    query: { ...filter, q: wanted, limit: LIMIT, ...(cursor === '' ? {} : { cursor }) },
    every: cursor === '' ? 2000 : 5000,
  });
  const counts = useAnswer<RunCounts>({ path: 'runs/counts', query: withoutStatus(filter), every: 5000 });
  const [at, setAt] = useState(0);
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const toggle = (id: string): void => {
    const next = new Set(selected);
    if (!next.delete(id)) next.add(id);
    setSelected(next);
  };
  const what = JSON.stringify([filter, wanted, cursor]);
  const top = useRef({ what: '', createdAt: '' });
  const all = answer.data?.items ?? [];
  if (answer.data !== undefined && top.current.what !== what)
    top.current = { what, createdAt: all[0]?.createdAt ?? '' };
  const items = all.filter(({ createdAt }) => createdAt <= top.current.createdAt);
  const fresh = all.length - items.length;
  const [, draw] = useState({});
  const bring = (): void => {
    top.current = { what, createdAt: all[0]?.createdAt ?? '' };
    draw({});
  };
  const step = (by: number): void => setAt(Math.max(0, Math.min(items.length - 1, at + by)));
  useKeys([
    { key: 'j', says: 'Next run', act: () => step(1) },
    { key: 'k', says: 'Previous run', act: () => step(-1) },
    { key: 'Enter', says: 'Open the run', act: () => items[at] !== undefined && go(`/runs/${items[at].id}`) },
    { key: 'x', says: 'Select the run', act: () => items[at] !== undefined && toggle(items[at].id) },
    { key: '.', says: 'Show new runs', act: bring },
    { key: '/', says: 'Filter', act: () => document.getElementById('text-filter')?.focus() },
  ]);
  return (
    <div class="page">
      <h1>Runs</h1>
      <Filters counts={counts.data} />
      {counts.data !== undefined && <LastDay counts={counts.data} />}
      {answer.data === undefined && <Unanswered answer={answer} />}
      {fresh > 0 && (
        <p>
          <button type="button" class="pill" onClick={bring}>
            {fresh} new
          </button>
        </p>
      )}
      {answer.data !== undefined && items.length === 0 && fresh === 0 && <Empty filtered={Object.keys(narrowed)} />}
      {items.length > 0 && (
        <Table name="Runs" columns={COLUMNS}>
          {items.map((run, place) => (
            <Row
              key={run.id}
              run={run}
              isAt={place === at}
              isSelected={selected.has(run.id)}
              select={() => toggle(run.id)}
            />
          ))}
        </Table>
      )}
      <Bulk selected={selected} select={setSelected} filter={narrowed} />
      <Pager next={answer.data?.nextCursor ?? null} />
    </div>
  );
}

const Empty = ({ filtered }: { readonly filtered: readonly string[] }): JSX.Element => (
  <section class="empty">
    <h2>{filtered.length === 0 ? 'No run yet' : 'No run fits the filter'}</h2>
    {filtered.length === 0 ? (
      <p>
        <code>holdfast run &lt;agent&gt; '…'</code>
      </p>
    ) : (
      filtered.map((name) => (
        <button key={name} type="button" onClick={() => setParams({ [name]: '' })}>
          Remove {name}: <Text text={param(name)} />
        </button>
      ))
    )}
  </section>
);
