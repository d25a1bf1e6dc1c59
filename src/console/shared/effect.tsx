import type { JSX } from 'preact';

const EFFECTS = {
  pure: ['○ pure', 'It changes nothing.'],
  idempotent: ['⟳ idempotent', 'Twice is the same as once.'],
  unsafe: ['⚠ unsafe', 'A second call does a second thing.'],
} as const;

/** What a tool does to the world, as a word with its shape. */
export function EffectWord({ of }: { readonly of: keyof typeof EFFECTS }): JSX.Element {
  const [word, about] = EFFECTS[of];
  return (
    <span class="faint" title={about}>
      {word}
    </span>
  );
}
