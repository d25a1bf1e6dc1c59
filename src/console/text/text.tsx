import type { ComponentChildren, JSX } from 'preact';
import { isMixed, visiblePieces } from './visible.js';

/** Draws a text that comes from outside: only as text, with each hidden character as its name. */
export function Text({ text, kind = 'exact' }: { readonly text: string; readonly kind?: 'exact' | 'prose' }) {
  const pieces = visiblePieces(text, kind).map((part, at) =>
    part.type === 'text' ? (
      part.text
    ) : (
      // The name is drawn by the style sheet, so that what is copied is the character.
      <span key={at} class="hidden-character" data-name={part.name} title={`hidden character ${part.name}`}>
        {part.text}
      </span>
    ),
  );
  return (
    <bdi dir={kind === 'exact' ? 'ltr' : undefined}>
      {isMixed(text) && kind === 'exact' ? (
        <span class="mixed-scripts" title="Letters that look like others">
          {pieces}
        </span>
      ) : (
        pieces
      )}
    </bdi>
  );
}

const LONGEST = 65_536;

/** A block of text with its lines; of a long one its beginning, and how much there is. */
export function Block({
  text,
  kind = 'exact',
  whole = false,
}: {
  readonly text: string;
  readonly kind?: 'exact' | 'prose';
  /** Nothing is left out, however long it is. */
  readonly whole?: boolean;
}): JSX.Element {
  const shown = whole ? text : text.slice(0, LONGEST).toWellFormed();
  return (
    <div class={kind === 'exact' ? 'block exact' : 'block prose'}>
      <Text text={shown} kind={kind} />
      {text.length > shown.length && (
        <Note>
          The first {shown.length.toLocaleString('en')} of {text.length.toLocaleString('en')} characters are shown.
        </Note>
      )}
    </div>
  );
}

export const Note = ({ children }: { readonly children: ComponentChildren }): JSX.Element => (
  <p class="note">{children}</p>
);
