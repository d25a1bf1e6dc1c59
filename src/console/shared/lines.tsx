import type { JSX } from 'preact';
import { folded, type Line, lineDifference } from '../text/lines.js';
import { Text } from '../text/text.js';
import { countText } from '../text/words.js';

const MARKS = { same: ['', ' '], gone: ['removed', '−'], new: ['added', '+'] } as const;

/** How a text was changed, line by line. Marks say what colours say. */
export const LineDifference = ({ from, to }: { readonly from: string; readonly to: string }): JSX.Element => (
  <ul class="line-difference exact">
    {folded(lineDifference(from, to)).map((one, at) =>
      typeof one === 'number' ? (
        <li key={at} class="faint left-out">
          {countText(one)} unchanged {one === 1 ? 'line' : 'lines'}
        </li>
      ) : (
        <Changed key={at} line={one} />
      ),
    )}
  </ul>
);

function Changed({ line: { kind, text } }: { readonly line: Line }): JSX.Element {
  const [word, mark] = MARKS[kind];
  return (
    <li class={`line-${kind}`}>
      <span aria-hidden="true" class="mark">
        {mark}
      </span>
      {word !== '' && <span class="unseen">{word}: </span>}
      <Text text={text} />
    </li>
  );
}
