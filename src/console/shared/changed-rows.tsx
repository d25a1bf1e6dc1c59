import type { JSX } from 'preact';
import type { UnreadableItem } from '../../core/page.js';
import { Text } from '../text/text.js';

/** Rows of a list that cannot be shown, because someone changed them in the database. */
export const ChangedRows = ({ rows = [] }: { readonly rows?: readonly UnreadableItem[] | undefined }): JSX.Element => (
  <>
    {rows.map(({ id, error }) => (
      <p class="warnings" key={id}>
        Someone changed the row of <Text text={id} />: <Text text={error.message} kind="prose" />
      </p>
    ))}
  </>
);
