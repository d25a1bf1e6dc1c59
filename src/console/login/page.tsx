import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { signIn } from '../session.js';
import { Trouble } from '../shared/trouble.js';

export const LoginPage = (): JSX.Element => (
  <main class="login">
    <SignInForm />
  </main>
);

/** One field for a token. It says nothing about what is behind it. */
export function SignInForm(): JSX.Element {
  const [trouble, setTrouble] = useState<Error | null>(null);
  const [busy, setBusy] = useState(false);
  const submit = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault();
    const form = event.currentTarget;
    if (!(form instanceof HTMLFormElement)) return;
    setBusy(true);
    try {
      await signIn(String(new FormData(form).get('token')).trim());
    } catch (error) {
      setTrouble(error instanceof Error ? error : new Error(String(error)));
    } finally {
      setBusy(false);
    }
  };
  return (
    <>
      <h1 id="sign-in">Sign in to Holdfast</h1>
      <form onSubmit={(event) => void submit(event)}>
        <label for="token">Token</label>
        <input id="token" name="token" type="password" required autocomplete="current-password" spellcheck={false} />
        <p class="note">
          The server prints its token when it starts. A server with configured tokens takes one of those.
        </p>
        <button type="submit" class="first" disabled={busy}>
          Sign in
        </button>
      </form>
      {trouble !== null && <Trouble error={trouble} />}
    </>
  );
}
