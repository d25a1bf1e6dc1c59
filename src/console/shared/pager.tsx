import type { JSX } from 'preact';
import { param, setParams } from '../address.js';

interface PagerProps {
  readonly next: string | null;
  /** Whether the newest stand first. */
  readonly byTime?: boolean;
}

/** The way through the pages of a list, whose place is the parameter `cursor` of the address. */
export function Pager({ next, byTime = true }: PagerProps): JSX.Element {
  return (
    <p class="row">
      {param('cursor') !== '' && (
        <button type="button" onClick={() => setParams({ cursor: '' })}>
          ‹ {byTime ? 'Newest' : 'First'}
        </button>
      )}
      <span class="fill" />
      {next !== null && (
        <button type="button" onClick={() => setParams({ cursor: next })}>
          {byTime ? 'Older' : 'Next'} ›
        </button>
      )}
    </p>
  );
}
