import type { ComponentChildren, JSX } from 'preact';
import type { InterruptionView } from '../../core/interruptions/interruption.js';
import { nameOfAct } from './acts.js';
import type { Act } from './decide.js';

interface ActButtonProps {
  readonly act: Act;
  readonly item: InterruptionView;
  readonly canNow: (act: Act) => boolean;
  readonly begin: (act: Act) => void;
  readonly children?: ComponentChildren;
}

/** Begins an act about what waits. */
export function ActButton({ act, item, canNow, begin, children }: ActButtonProps): JSX.Element {
  return (
    <button
      type="button"
      class={act === 'approve' ? 'first' : undefined}
      disabled={!canNow(act)}
      onClick={() => begin(act)}
    >
      {nameOfAct(act, item)}
      {children}
    </button>
  );
}
