import type { JSX } from 'preact';
import type { TrialReport } from '../../core/evolution/version.js';
import { intervalText, rateText } from '../batches/words.js';
import { Table } from '../shared/table.js';
import { countText, durationText, usdText } from '../text/words.js';
import { dollarsOf, passedText, rateOf } from './words.js';

const COLUMNS = {
  Definition: 'text',
  Passed: 'number',
  Rate: 'number',
  'Interval of 95 %': 'text',
  Cost: 'number',
  'Time at work': 'number',
} as const;

/** How both definitions did in the cases of the proposal, and what replays of waiting runs say. */
export function Trial({ report }: { readonly report: TrialReport | null }): JSX.Element {
  if (report === null)
    return (
      <section class="card">
        <h2>Trial</h2>
        <p class="note">There is no report: the trial has not ended.</p>
      </section>
    );
  const { before, after, waiting } = report;
  const arms = [
    ['before', before],
    ['after', after],
  ] as const;
  return (
    <section class="card">
      <h2>Trial</h2>
      {before.of === 0 ? (
        <p class="note">The proposal had no cases.</p>
      ) : (
        <>
          {arms.map(([name, arm]) => (
            <div key={name} class="row arm">
              <span class="name">{name}</span>
              <Interval arm={arm} />
              <span class="number">{passedText(arm)}</span>
            </div>
          ))}
          <Table name="Trial" columns={COLUMNS}>
            {arms.map(([name, arm]) => (
              <tr key={name}>
                <td>{name}</td>
                <td class="number">{passedText(arm)}</td>
                <td class="number">{rateText(rateOf(arm))}</td>
                <td>{intervalText(rateOf(arm))}</td>
                <td class="number">{usdText(arm.nanoUsd === null ? null : dollarsOf(arm.nanoUsd), 4)}</td>
                <td class="number">{durationText(arm.activeMs)}</td>
              </tr>
            ))}
          </Table>
        </>
      )}
      <p>
        {waiting.replayed === 0
          ? 'No paused run was replayed.'
          : `Of ${countText(waiting.replayed)} paused runs, ${countText(waiting.same)} would do the same, ${countText(waiting.differ)} would not, and ${countText(waiting.refused)} cannot be replayed.`}
      </p>
    </section>
  );
}

/** The rate as a mark on the line of its interval. The table says the numbers. */
function Interval({ arm: { rate, low, high } }: { readonly arm: TrialReport['before'] }): JSX.Element {
  const x = (share: number | null): number => 4 + 192 * (share ?? 0);
  return (
    <svg class="interval" viewBox="0 0 200 12" preserveAspectRatio="none" aria-hidden="true">
      <line class="scale" x1="4" x2="196" y1="6" y2="6" />
      <line class="range" x1={x(low)} x2={x(high)} y1="6" y2="6" />
      <rect x={x(rate) - 2} y="1" width="4" height="10" />
    </svg>
  );
}
