import type { JSX } from 'preact';
import { param, setParams } from '../address.js';

/** The way through the pages of a list, whose place is the parameter `cursor` of the address. */
export function Pager({ next }: { readonly next: string | null }): JSX.Element {
  return (
    <p class="row">
      {param('cursor') !== '' && (
        <button type="button" onClick={() => setParams({ cursor: '' })}>
          ‹ Newest
        </button>
      )}
      <span class="fill" />
      {next !== null && (
        <button type="button" onClick={() => setParams({ cursor: next })}>
          Older ›
        </button>
      )}
    </p>
  );
}
