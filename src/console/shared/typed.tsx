import type { JSX, TargetedEvent, TargetedInputEvent } from 'preact';
import { useState } from 'preact/hooks';

interface TypedProps {
  /** What counts now. */
  readonly value: string;
  /** Takes what was typed, when the field is left or Enter is pressed. */
  readonly commit: (text: string) => void;
  readonly name: string;
  readonly placeholder?: string;
  readonly id?: string;
  readonly isSearch?: boolean;
  readonly maxLength?: number;
}

/** A field whose text counts once it is committed. Until then it stays, also when the page around it is drawn again. */
export function Typed({ value, commit, name, isSearch = false, placeholder = name, ...rest }: TypedProps): JSX.Element {
  const [draft, setDraft] = useState<string | null>(null);
  const field = {
    ...rest,
    'aria-label': name,
    placeholder,
    spellcheck: false,
    value: draft ?? value,
    onInput: ({ currentTarget }: TargetedInputEvent<HTMLInputElement>) => setDraft(currentTarget.value),
    onChange: ({ currentTarget }: TargetedEvent<HTMLInputElement>) => {
      commit(currentTarget.value);
      setDraft(null);
    },
    onBlur: () => setDraft(null),
  };
  return isSearch ? <input type="search" {...field} /> : <input {...field} />;
}
