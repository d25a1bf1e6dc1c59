import type { JSX } from 'preact';
import { Text } from '../text/text.js';
import { shortId } from '../text/words.js';
import { Copy } from './copy.js';

/** An id, shortened for the eye; what is copied is the id. */
export const Id = ({ id, href }: { readonly id: string; readonly href?: string }): JSX.Element => (
  <span class="id" title={id}>
    {href === undefined ? (
      <Text text={shortId(id)} />
    ) : (
      <a href={href}>
        <Text text={shortId(id)} />
      </a>
    )}
    {href === undefined && <Copy text={() => id} name="Copy id" />}
  </span>
);
