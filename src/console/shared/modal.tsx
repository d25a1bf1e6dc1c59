import type { ComponentChildren, JSX, RefObject } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { Trouble } from './trouble.js';
import { useWork } from './work.js';

/** A dialog that is open as long as it is drawn, also before the browser draws it: the next key is typed into it. */
export function useModal(): RefObject<HTMLDialogElement | null> {
  const dialog = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => dialog.current?.showModal(), []);
  return dialog;
}

interface FormDialogProps {
  readonly title: ComponentChildren;
  /** What its button says. */
  readonly verb: string;
  readonly tone?: 'first' | 'danger';
  /** Whether Enter alone sends it: the button has the focus from the first. */
  readonly isReady?: boolean;
  /** What it does. The dialog stays with the reason where this throws. */
  readonly submit: (form: FormData) => Promise<void>;
  readonly close: () => void;
  readonly children: ComponentChildren;
}

/** A form over the page. `Ctrl+Enter` sends it, `Esc` leaves it. */
export function FormDialog(props: FormDialogProps): JSX.Element {
  const { title, verb, tone = 'first', isReady = false, submit, close, children } = props;
  const dialog = useModal();
  const { busy, trouble, work } = useWork();
  const send = (form: HTMLFormElement): void =>
    work(async () => {
      await submit(new FormData(form));
      dialog.current?.close();
    });
  return (
    <dialog ref={dialog} class="form-dialog" aria-labelledby="dialog-title" onClose={close}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          send(event.currentTarget);
        }}
        onKeyDown={(event) => {
          if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) event.currentTarget.requestSubmit();
        }}
      >
        <h2 id="dialog-title">{title}</h2>
        {children}
        {trouble !== null && <Trouble error={trouble} />}
        <div class="row apart">
          <button type="button" onClick={() => dialog.current?.close()}>
            Back <kbd>Esc</kbd>
          </button>
          <button type="submit" class={tone} disabled={busy} autofocus={isReady}>
            {verb} <kbd>{isReady ? 'Enter' : 'Ctrl Enter'}</kbd>
          </button>
        </div>
      </form>
    </dialog>
  );
}
