import type { JSX } from 'preact';
import type { AgentVersion, TrialReport } from '../../core/evolution/version.js';
import { Icon, type Shape } from '../shared/icon.js';

interface Mark {
  readonly tone: string;
  readonly shape: Shape;
  readonly word: string;
}

/** In the order of a patch's life. */
export const STATUSES: { readonly [Status in AgentVersion['status']]: Mark } = {
  proposed: { tone: 'waiting', shape: 'waiting', word: 'Proposed' },
  live: { tone: 'done', shape: 'completed', word: 'Live' },
  replaced: { tone: 'quiet', shape: 'cancelled', word: 'Replaced' },
  rolled_back: { tone: 'failed', shape: 'failed', word: 'Rolled back' },
};

export function VersionMark({ status }: Pick<AgentVersion, 'status'>): JSX.Element {
  const { tone, shape, word } = STATUSES[status];
  return (
    <span class={`status tone-${tone}`}>
      <Icon shape={shape} />
      {word}
    </span>
  );
}

type Arm = TrialReport['before'];

/** How many of the cases passed. */
export const passedText = ({ passed, of }: Arm): string => (of === 0 ? 'no case' : `${passed} of ${of}`);

/** Null in the place of a number: there were no cases. */
export const rateOf = ({ rate, low, high }: Arm) =>
  rate === null || low === null || high === null ? null : { value: rate, low, high };

/** Dollars of billionths of a dollar, without zeros at the end. */
export function dollarsOf(nanoUsd: string): string {
  const digits = nanoUsd.padStart(10, '0');
  const rest = digits.slice(-9).replace(/0+$/, '');
  return `${digits.slice(0, -9)}${rest === '' ? '' : `.${rest}`}`;
}
