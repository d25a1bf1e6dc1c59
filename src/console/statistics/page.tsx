import type { JSX } from 'preact';
import type { SeriesName, StatsSeries } from '../../core/ops/overview.js';
import { param, setParams } from '../address.js';
import { useAnswer } from '../api/query.js';
import { Chart } from '../shared/chart.js';
import { useStart } from '../shared/time.js';
import { Unanswered } from '../shared/trouble.js';
import { countText, dollarsText, durationText } from '../text/words.js';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

const RANGES = {
  day: { name: '24 hours', ms: DAY_MS, step: 'hour' },
  week: { name: '7 days', ms: 7 * DAY_MS, step: 'day' },
  month: { name: '30 days', ms: 30 * DAY_MS, step: 'day' },
  quarter: { name: '90 days', ms: 90 * DAY_MS, step: 'day' },
} as const;
type RangeName = keyof typeof RANGES;
const isRange = (text: string): text is RangeName => Object.hasOwn(RANGES, text);

const STATUS_TONES = {
  ...{ completed: 'done', failed: 'failed', cancelled: 'quiet', running: 'running', paused: 'waiting' },
  ...{ queued: 'unknown' },
};
const DECISION_TONES = {
  ...{ approved: 'done', answered: 'running', rejected: 'failed', expired: 'waiting', cancelled: 'quiet' },
};

interface Shown {
  readonly name: string;
  readonly kind: 'bars' | 'lines';
  readonly text: (value: number) => string;
  readonly tones?: { readonly [key: string]: string };
}

const CHARTS: { readonly [metric in SeriesName]: Shown } = {
  runs: { name: 'Runs by status', kind: 'bars', text: countText, tones: STATUS_TONES },
  runs_by_agent: { name: 'Runs by agent', kind: 'bars', text: countText },
  usd: { name: 'Dollars by model', kind: 'bars', text: dollarsText },
  usd_by_agent: { name: 'Dollars by agent', kind: 'bars', text: dollarsText },
  tokens: { name: 'Tokens by model', kind: 'bars', text: countText },
  run_ms: { name: 'How long runs worked', kind: 'lines', text: durationText },
  decisions: { name: 'How waits for people ended', kind: 'bars', text: countText, tones: DECISION_TONES },
  decide_ms: { name: 'How long people took to decide', kind: 'lines', text: durationText },
};

/** What became of runs, what they cost, and how long people took, by hour or by day. */
export function Page(): JSX.Element {
  const chosen: RangeName = isRange(param('range')) ? (param('range') as RangeName) : 'week';
  return (
    <div class="page">
      <div class="row wrap">
        <h1>Statistics</h1>
        <span class="fill" />
        <label>
          Time{' '}
          <select value={chosen} onChange={(event) => setParams({ range: event.currentTarget.value })}>
            {Object.entries(RANGES).map(([key, { name }]) => (
              <option key={key} value={key}>
                {name}
              </option>
            ))}
          </select>
        </label>
      </div>
      <p class="note">Days and hours are those of UTC. A run counts for the time when it was made.</p>
      <div class="charts">
        {(Object.keys(CHARTS) as SeriesName[]).map((metric) => (
          <Series key={`${metric}/${chosen}`} metric={metric} range={chosen} />
        ))}
      </div>
    </div>
  );
}

function Series({ metric, range }: { readonly metric: SeriesName; readonly range: RangeName }): JSX.Element {
  const { ms, step } = RANGES[range];
  const stepMs = step === 'hour' ? HOUR_MS : DAY_MS;
  const from = useStart(ms - stepMs, stepMs);
  const query = { metric, step, from };
  const answer = useAnswer<StatsSeries>({ path: 'stats/series', query, every: 60_000, keeps: true });
  if (answer.data === undefined) return <Unanswered answer={answer} />;
  const { at, series, atLeast } = answer.data;
  const labels = at.map((time) => (step === 'day' ? time.slice(0, 10) : `${time.slice(5, 10)} ${time.slice(11, 16)}`));
  return (
    <div>
      <Chart {...CHARTS[metric]} labels={labels} lines={series} />
      {atLeast && <p class="note">There is more than was read; the newest is shown.</p>}
    </div>
  );
}
