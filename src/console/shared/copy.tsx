import type { JSX } from 'preact';
import { useState } from 'preact/hooks';

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
