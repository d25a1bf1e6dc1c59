import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { path } from '../address.js';
import { session, signOut } from '../session.js';
import { Text } from '../text/text.js';
import { Trouble } from './trouble.js';
import { useWork } from './work.js';

/** Ends the sign-in, or says why it did not end. */
export function SignOut(): JSX.Element {
  const { busy, trouble, work } = useWork();
  return (
    <>
      <button type="button" disabled={busy} onClick={() => work(signOut)}>
        Sign out
      </button>
      {trouble !== null && <Trouble error={trouble} />}
    </>
  );
}

/** Who signed in, with a menu that closes when anything else is used. */
export function Who(): JSX.Element | null {
  const menu = useRef<HTMLDetailsElement>(null);
  const at = path.value.split('/')[1];
  useEffect(() => {
    if (menu.current !== null) menu.current.open = false;
  }, [at]);
  useEffect(() => {
    const onPointer = ({ target }: Event): void => {
      if (menu.current?.open === true && target instanceof Node && !menu.current.contains(target))
        menu.current.open = false;
    };
    document.addEventListener('pointerdown', onPointer);
    return () => document.removeEventListener('pointerdown', onPointer);
  }, []);
  const who = session.value;
  if (who == null) return null;
  return (
    <details
      class="who"
      ref={menu}
      onKeyDown={(event) => {
        if (event.key !== 'Escape' || menu.current?.open !== true) return;
        event.preventDefault();
        menu.current.open = false;
        menu.current.querySelector('summary')?.focus();
      }}
    >
      <summary>
        <Text text={who.actor} />
        <span class="faint role"> · {who.role}</span>
      </summary>
      <div class="menu">
        <p>
          Tenant <Text text={who.tenant} />
        </p>
        <p>
          <a href="/settings">Settings</a>
        </p>
        <SignOut />
      </div>
    </details>
  );
}
