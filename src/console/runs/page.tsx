import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { RunRowView } from '../../core/interruptions/run-rows.js';
import type { Page as PageOf } from '../../core/page.js';
import type { RunCounts } from '../../core/runs/run-counts.js';
import { go, param, paramsOf, setParams } from '../address.js';
import { useAnswer } from '../api/query.js';
import { useKeys } from '../keys.js';
import { RunMark } from '../shared/status.js';
import { Pager, Table, toggled } from '../shared/table.js';
import { Time } from '../shared/time.js';
import { Unanswered } from '../shared/trouble.js';
import { Text } from '../text/text.js';
import { countText, durationText, shortId, usdText } from '../text/words.js';
import { Bulk } from './bulk.js';
import { FILTERS, Filters } from './filters.js';

const LIMIT = 50;
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

function withoutStatus({ status: _status, ...filter }: { readonly [name: string]: string }) {
  return filter;
}

/** Runs, newest first. Those that begin while the page is read wait behind a button. */
export function Page(): JSX.Element {
  const cursor = param('cursor');
  const filter = paramsOf(FILTERS);
  const wanted = param('q');
  const order = param('order');
  const narrowed: { readonly [name: string]: string } = wanted === '' ? filter : { ...filter, q: wanted };
  const answer = useAnswer<PageOf<RunRowView>>({
    path: 'runs/rows',
    query: { ...filter, q: wanted, order, limit: LIMIT, ...(cursor === '' ? {} : { cursor }) },
    every: cursor === '' ? 2000 : 5000,
  });
  // A text is searched for, not counted by.
  const isCounted = wanted === '';
  const asked = { path: 'runs/counts', query: withoutStatus(filter), every: 5000, enabled: isCounted } as const;
  const answered = useAnswer<RunCounts>(asked).data;
  const counts = isCounted ? answered : undefined;
  const [at, setAt] = useState(0);
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const toggle = (id: string): void => setSelected(toggled(selected, id));
  // What is not in sight is not selected: another filter begins with nothing.
  const fits = JSON.stringify(narrowed);
  useEffect(() => setSelected(new Set()), [fits]);
  const what = JSON.stringify([filter, wanted, order, cursor]);
  const top = useRef({ what: '', createdAt: '' });
  const all = answer.data?.items ?? [];
  if (answer.data !== undefined && top.current.what !== what)
    top.current = { what, createdAt: all[0]?.createdAt ?? '' };
  // In another order a new run has no place of its own on top.
  const items = all.filter(({ createdAt }) => order !== '' || createdAt <= top.current.createdAt);
  const fresh = all.length - items.length;
  const [, draw] = useState({});
  const bring = (): void => {
    top.current = { what, createdAt: all[0]?.createdAt ?? '' };
    draw({});
  };
  useEffect(() => {
    document.querySelector('main tr.selected')?.scrollIntoView({ block: 'nearest' });
  }, [at]);
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
      <Filters counts={counts} />
      {counts !== undefined && <LastDay counts={counts} />}
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
      <Pager next={answer.data?.nextCursor ?? null} byTime={order === ''} />
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

const HOUR_MS = 3_600_000;
const HOURS = 24;
const HEIGHT = 32;
const WIDTH = 8;

/** How many runs ended in each of the last 24 hours, the failed ones at the foot. */
export function LastDay({ counts }: { readonly counts: RunCounts }): JSX.Element {
  const newest = Math.floor(Date.now() / HOUR_MS) * HOUR_MS;
  const hours = Array.from({ length: HOURS }, (_, at) => {
    const start = newest - (HOURS - 1 - at) * HOUR_MS;
    return counts.byHour.find((one) => Date.parse(one.at) === start) ?? { ended: 0, failed: 0 };
  });
  const most = Math.max(1, ...hours.map(({ ended }) => ended));
  const sum = (name: 'ended' | 'failed'): number => hours.reduce((total, hour) => total + hour[name], 0);
  const tall = (count: number): number => Math.round((count / most) * HEIGHT);
  const text = `${countText(sum('ended'))} runs ended in the last 24 hours, ${countText(sum('failed'))} of them failed`;
  return (
    <figure class="last-day">
      <svg viewBox={`0 0 ${HOURS * WIDTH} ${HEIGHT}`} role="img" aria-label={text} preserveAspectRatio="none">
        {hours.map(({ ended, failed }, at) => (
          <g key={newest - at * HOUR_MS}>
            <rect
              class="done"
              x={at * WIDTH}
              width={WIDTH - 1}
              y={HEIGHT - tall(ended)}
              height={tall(ended - failed)}
            />
            <rect class="failed" x={at * WIDTH} width={WIDTH - 1} y={HEIGHT - tall(failed)} height={tall(failed)} />
          </g>
        ))}
      </svg>
      <figcaption class="faint">{text}</figcaption>
    </figure>
  );
}
