import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import { dropCode, signIn } from '../session.js';
import { Trouble } from '../shared/trouble.js';
import { useWork } from '../shared/work.js';
import { Text } from '../text/text.js';

export const LoginPage = (): JSX.Element => (
  <main class="login">
    <SignInForm />
  </main>
);

/** Asked where someone is signed in already: the code may be someone else's. */
export function CodeQuestion({ code, actor }: { readonly code: string; readonly actor: string }): JSX.Element {
  const { busy, trouble, work } = useWork();
  return (
    <main class="login">
      <h1>Sign in with the code?</h1>
      <p>
        You are signed in as <Text text={actor} />. The address brought a code, which may sign you in as someone else.
      </p>
      <div class="row apart">
        <button type="button" onClick={() => dropCode()}>
          Stay <Text text={actor} />
        </button>
        <button type="button" class="first" disabled={busy} onClick={() => work(() => signIn({ code }))}>
          Sign in with the code
        </button>
      </div>
      {trouble !== null && <Trouble error={trouble} />}
    </main>
  );
}

/** Signs in by the code that the address brought. */
export function CodeLogin({ code }: { readonly code: string }): JSX.Element {
  const { trouble, work } = useWork();
  useEffect(() => work(() => signIn({ code })), []);
  return (
    <main class="login">
      {trouble === null ? <p role="status">Signing in.</p> : <SignInForm />}
      {trouble !== null && <Trouble error={trouble} />}
    </main>
  );
}

/** One field for a token. It says nothing about what is behind it. */
export function SignInForm(): JSX.Element {
  const { busy, trouble, work } = useWork();
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    const form = event.currentTarget;
    if (form instanceof HTMLFormElement) work(() => signIn({ token: String(new FormData(form).get('token')).trim() }));
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
