import { signal } from '@preact/signals';
import { useLayoutEffect } from 'preact/hooks';

/** Single keys that do something on a page. They rest while a field has the focus or a dialog is open. */

export interface Key {
  /** As `KeyboardEvent.key` names it, with `g ` before it for the second of two. */
  readonly key: string;
  readonly says: string;
  readonly act: () => void;
}

const STORED = 'holdfast-keys';
export const keysOn = signal(localStorage.getItem(STORED) !== 'off');
export function setKeys(on: boolean): void {
  keysOn.value = on;
  localStorage.setItem(STORED, on ? 'on' : 'off');
}

/** Those of the place, the innermost last. */
export const active = signal<readonly (readonly Key[])[]>([]);

/** The keys are those of what was rendered last, also before the browser draws it: two may follow each other at once. */
export function useKeys(keys: readonly Key[]): void {
  useLayoutEffect(() => {
    active.value = [...active.peek(), keys];
    return () => {
      active.value = active.peek().filter((one) => one !== keys);
    };
  });
}

const isField = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement &&
  (target.isContentEditable || ['INPUT', 'TEXTAREA', 'SELECT'].includes(target.tagName));

let prefix = '';

addEventListener('keydown', (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
  if (!keysOn.value || isField(event.target) || document.querySelector('dialog[open]') !== null) return;
  // What Enter and Space do on a control with the focus, the control says.
  const control = event.target instanceof Element ? event.target.closest('button, a, summary') : null;
  if (control !== null && (event.key === 'Enter' || event.key === ' ')) return;
  const pressed = prefix + event.key;
  prefix = '';
  const found = active.value.flat().findLast(({ key }) => key === pressed);
  if (found !== undefined) {
    event.preventDefault();
    found.act();
  } else if (event.key === 'g') {
    prefix = 'g ';
    setTimeout(() => {
      prefix = '';
    }, 1500);
  }
});
