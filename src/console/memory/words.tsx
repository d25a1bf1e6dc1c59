import type { JSX } from 'preact';
import type { MemoryEntry } from '../../core/memory/memory-view.js';
import { Text } from '../text/text.js';

/** Where the page of a document is. */
export const addressOfDocument = ({ space, owner, key }: Pick<MemoryEntry, 'space' | 'owner' | 'key'>): string =>
  `/memory/${encodeURIComponent(space)}/document?${new URLSearchParams({ ...(owner === '' ? {} : { owner }), key })}`;

/** Whom a document belongs to. */
export const Owner = ({ of }: { readonly of: string }): JSX.Element =>
  of === '' ? <span class="faint">the tenant</span> : <Text text={of} />;

/** Whether people or agents here wrote a document, or how its content came in from outside. */
export const Labels = ({ of }: Record<'of', MemoryEntry['labels']>): JSX.Element =>
  of.length === 0 ? (
    <span class="faint">trusted</span>
  ) : (
    <span class="row wrap">
      {of.map((label) => (
        <span key={label} class="status tone-unknown" title="Something in it came from outside.">
          {label}
        </span>
      ))}
    </span>
  );
