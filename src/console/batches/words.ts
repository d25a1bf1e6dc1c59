import type { PassRate } from '../../core/tasks/pass-rate.js';

const percent = (share: number): string => `${(100 * share).toFixed(1)} %`;

export const rateText = (rate: PassRate): string => (rate === null ? '–' : percent(rate.value));

/** The ends of its interval; of nothing there are none. */
export const intervalText = (rate: PassRate): string =>
  rate === null ? '' : `(${percent(rate.low)} to ${percent(rate.high)})`;

export const meanText = (mean: number | null, digits = 3): string => (mean === null ? '–' : mean.toFixed(digits));
