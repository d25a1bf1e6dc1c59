import type { JSX } from 'preact';
import { active, keysOn, setKeys } from '../keys.js';
import { useModal } from './modal.js';

export function KeyHelp({ close }: { readonly close: () => void }): JSX.Element {
  const dialog = useModal();
  return (
    <dialog ref={dialog} onClose={close} aria-labelledby="keys">
      <h2 id="keys">Keys</h2>
      <dl class="keys">
        <div>
          <dt>
            <kbd>Ctrl K</kbd>
          </dt>
          <dd>Jump to a run, an interruption or a page</dd>
        </div>
        {active.value.flat().map(({ key, says }) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{says}</dd>
          </div>
        ))}
      </dl>
      <label class="row">
        <input type="checkbox" checked={keysOn.value} onChange={(event) => setKeys(event.currentTarget.checked)} />{' '}
        Single keys act
      </label>
      <form method="dialog">
        <button type="submit">Close</button>
      </form>
    </dialog>
  );
}
