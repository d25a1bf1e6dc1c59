import type { JSX } from 'preact';
import { useRef, useState } from 'preact/hooks';
import { go } from '../address.js';

const PAGES = [
  ['Inbox', '/inbox'],
  ['Runs', '/runs'],
  ['Failed runs', '/runs?status=failed'],
  ['Paused runs', '/runs?status=paused'],
  ['Tasks', '/tasks'],
  ['Dead tasks', '/tasks?dead=true'],
  ['Batches', '/batches'],
  ['Agents', '/agents'],
  ['Evolution', '/evolution'],
  ['Live patches', '/evolution?status=live'],
  ['Memory', '/memory'],
  ['Operations', '/operations'],
  ['Statistics', '/statistics'],
  ['Data and exports', '/data'],
  ['Review', '/data?tab=review'],
  ['Sessions', '/data?tab=sessions'],
  ['Settings', '/settings'],
] as const;

/** Where a text leads: an id to what it names, words to pages. */
function targetsOf(text: string): readonly (readonly [string, string])[] {
  const given = text.trim();
  const event = /^(run_\w+):(\d+)$/.exec(given);
  if (event !== null) return [[`Event ${event[2]} of the run`, `/runs/${event[1]}?event=${event[2]}`]];
  if (/^run_\w+$/.test(given)) return [[`Run ${given}`, `/runs/${given}`]];
  if (/^int_\w+$/.test(given)) return [[`Interruption ${given}`, `/inbox/${given}`]];
  if (/^task_\w+$/.test(given)) return [[`Task ${given}`, `/tasks/${given}`]];
  const word = given.toLowerCase();
  const pages = PAGES.filter(([name]) => name.toLowerCase().includes(word));
  return given === '' || pages.length > 0
    ? pages
    : [[`Runs of the agent ${given}`, `/runs?agent=${encodeURIComponent(given)}`]];
}

/** `Ctrl+K`: paste any id, or name a page. */
export function Jump(): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  const input = useRef<HTMLInputElement>(null);
  const [text, setText] = useState('');
  const targets = targetsOf(text);
  const open = (to: string): void => {
    dialog.current?.close();
    setText('');
    go(to);
  };
  return (
    <dialog id="jump" ref={dialog} aria-label="Jump">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          // What was pasted just before is not drawn yet.
          const [first] = targetsOf(input.current?.value ?? text);
          if (first !== undefined) open(first[1]);
        }}
      >
        <input
          ref={input}
          aria-label="An id, an agent or a page"
          placeholder="Paste an id, or name an agent or a page"
          value={text}
          onInput={(event) => setText(event.currentTarget.value)}
          spellcheck={false}
        />
      </form>
      <ul class="targets">
        {targets.map(([name, to]) => (
          <li key={to}>
            <button type="button" class="plain" onClick={() => open(to)}>
              {name}
            </button>
          </li>
        ))}
      </ul>
    </dialog>
  );
}
