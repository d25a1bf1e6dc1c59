import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { Text } from '../text/text.js';
import { shortId } from '../text/words.js';

/** Copies a text exactly, and says so. */
export function Copy({ text, name = 'Copy' }: { readonly text: () => string; readonly name?: string }): JSX.Element {
  const [said, say] = useState<string | null>(null);
  const copy = async (): Promise<void> => {
    const done = await navigator.clipboard.writeText(text()).then(
      () => 'Copied',
      () => 'Not allowed',
    );
    say(done);
    setTimeout(() => say(null), 1500);
  };
  return (
    <button type="button" class="plain copy" onClick={() => void copy()}>
      {said ?? name}
    </button>
  );
}

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
