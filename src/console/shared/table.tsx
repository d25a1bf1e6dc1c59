import type { ComponentChildren, JSX } from 'preact';

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
