import type { JSX } from 'preact';
import type { PatchOperation } from '../../core/difference.js';
import { exactText } from '../text/exact.js';
import { Text } from '../text/text.js';

/** A JSON Patch, an operation in a line. */
export const Difference = ({ of }: { readonly of: readonly PatchOperation[] }): JSX.Element => (
  <ul class="difference">
    {of.map((one) => (
      <li key={`${one.op} ${one.path}`} class="exact">
        {one.op} <Text text={one.path === '' ? '(all)' : one.path} />
        {'value' in one && (
          <>
            {' = '}
            <Text text={exactText(one.value)} />
          </>
        )}
      </li>
    ))}
  </ul>
);
