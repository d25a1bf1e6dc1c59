import { signal } from '@preact/signals';
import type { JSX } from 'preact';
import { relativeText } from '../text/words.js';

/** The time of this browser, updated each second while the page is in sight. */
export const now = signal(Date.now());
setInterval(() => {
  if (document.visibilityState === 'visible') now.value = Date.now();
}, 1000);

/** When the last so many milliseconds began, in steps: what stays open goes on with the time. */
export const useStart = (ms: number, stepMs: number): string =>
  new Date(Math.floor((now.value - ms) / stepMs) * stepMs).toISOString();

const DAY_MS = 86_400_000;

const MONTH_MS = 30 * DAY_MS;

const exact = (at: Date): string => at.toLocaleString('en-GB', { dateStyle: 'medium', timeStyle: 'medium' });

/** A time: near to now (within a day, unless `near` says otherwise) relative, with the exact one in its title. */
export function Time({ at, near = DAY_MS }: { readonly at: string; readonly near?: number }): JSX.Element {
  const date = new Date(at);
  const isNear = Math.abs(date.getTime() - now.value) < near;
  return (
    <time dateTime={at} title={`${exact(date)} (${at})`}>
      {isNear ? relativeText(date.getTime(), now.value) : exact(date)}
    </time>
  );
}

/** The clock time with milliseconds. */
export const ClockTime = ({ at }: { readonly at: string }): JSX.Element => {
  const date = new Date(at);
  return (
    <time dateTime={at} title={exact(date)}>
      {date.toLocaleTimeString('en-GB')}
      <span class="faint">.{String(date.getMilliseconds()).padStart(3, '0')}</span>
    </time>
  );
};

/** A time at which something ends: relative, also when it is weeks away. */
export const Deadline = ({ at }: { readonly at: string }): JSX.Element => <Time at={at} near={MONTH_MS} />;
