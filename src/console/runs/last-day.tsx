import type { JSX } from 'preact';
import type { RunCounts } from '../../core/runs/run-counts.js';
import { countText } from '../text/words.js';

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
