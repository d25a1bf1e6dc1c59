import type { ComponentChildren, JSX } from 'preact';
import { param, setParams } from '../address.js';

interface TableProps {
  readonly name: string;
  /** How each column is set: as text, as numbers, or with a head that only readers of the page hear. */
  readonly columns: { readonly [name: string]: 'text' | 'number' | 'unseen' };
  /** Its rows. */
  readonly children: ComponentChildren;
}

/** A table that scrolls sideways by itself. */
export const Table = ({ name, columns, children }: TableProps): JSX.Element => (
  <div class="scroll" tabIndex={0} role="group" aria-label={name}>
    <table class="rows">
      <thead>
        <tr>
          {Object.entries(columns).map(([column, kind]) => (
            <th key={column} scope="col" class={kind === 'number' ? 'number' : undefined}>
              {kind === 'unseen' ? <span class="unseen">{column}</span> : column}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>{children}</tbody>
    </table>
  </div>
);

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

interface OnwardProps {
  /** The number that this page begins after; 0: the first page. */
  readonly after: number;
  /** The number that the next page begins after; null: this is the last page. */
  readonly next: number | null;
  readonly name?: string;
  readonly go: (after: number) => void;
}

/** The way through the pages of a list whose items are numbered. */
export const Onward = ({ after, next, name = 'Later', go }: OnwardProps): JSX.Element => (
  <p class="row">
    {after > 0 && (
      <button type="button" onClick={() => go(0)}>
        ‹ First
      </button>
    )}
    <span class="fill" />
    {next !== null && (
      <button type="button" onClick={() => go(next)}>
        {name} ›
      </button>
    )}
  </p>
);

/** A selection with one more, or without it if it was selected. */
export function toggled(selected: ReadonlySet<string>, id: string): ReadonlySet<string> {
  const next = new Set(selected);
  if (!next.delete(id)) next.add(id);
  return next;
}
