import type { JSX } from 'preact';
import { signIn } from '../session.js';
import { Trouble } from '../shared/trouble.js';
import { useWork } from '../shared/work.js';

export const LoginPage = (): JSX.Element => (
  <main class="login">
    <SignInForm />
  </main>
);

/** One field for a token. It says nothing about what is behind it. */
export function SignInForm(): JSX.Element {
  const { busy, trouble, work } = useWork();
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    const form = event.currentTarget;
    if (form instanceof HTMLFormElement) work(() => signIn(String(new FormData(form).get('token')).trim()));
  };
  return (
    <>
      <h1 id="sign-in">Sign in to Holdfast</h1>
      <form onSubmit={submit}>
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
