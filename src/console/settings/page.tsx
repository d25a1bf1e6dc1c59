import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { Health } from '../../core/ops/health.js';
import { useAnswer } from '../api/query.js';
import { keysOn, setKeys } from '../keys.js';
import { may, session } from '../session.js';
import { applyLook, LOOKS, storedLook } from '../shared/look.js';
import { Time } from '../shared/time.js';
import { SignOut } from '../shared/who.js';
import { Text } from '../text/text.js';

/** What is kept in this browser, and who signed in. */
export function Page(): JSX.Element {
  return (
    <div class="page">
      <h1>Settings</h1>
      <ThisBrowser />
      <SignedIn />
      <About />
    </div>
  );
}

function ThisBrowser(): JSX.Element {
  const [look, setLook] = useState(storedLook());
  return (
    <section class="card" aria-labelledby="this-browser">
      <h2 id="this-browser">This browser</h2>
      <fieldset class="row wrap">
        <legend>Colours</legend>
        {LOOKS.map((name) => (
          <label key={name} class="choice">
            <input
              type="radio"
              name="look"
              checked={name === look}
              onChange={() => {
                applyLook(name);
                setLook(name);
              }}
            />{' '}
            {name}
          </label>
        ))}
      </fieldset>
      <label class="row choice">
        <input type="checkbox" checked={keysOn.value} onChange={(event) => setKeys(event.currentTarget.checked)} />{' '}
        Single keys act
      </label>
    </section>
  );
}

function SignedIn(): JSX.Element | null {
  const who = session.value;
  if (who == null) return null;
  return (
    <section class="card" aria-labelledby="signed-in">
      <h2 id="signed-in">Signed in</h2>
      <dl class="facts">
        <dt>Actor</dt>
        <dd>
          <Text text={who.actor} />
        </dd>
        <dt>Role</dt>
        <dd>{who.role}</dd>
        <dt>Tenant</dt>
        <dd>
          <Text text={who.tenant} />
        </dd>
        <dt>Ends</dt>
        <dd>
          <Time at={who.expiresAt} />, unless you come back before
        </dd>
      </dl>
      <div>
        <SignOut />
      </div>
    </section>
  );
}

function About(): JSX.Element | null {
  const { data } = useAnswer<Health>({ path: 'health', enabled: may('getHealth') });
  if (data === undefined) return null;
  return (
    <section class="card" aria-labelledby="about">
      <h2 id="about">This server</h2>
      <p>
        Holdfast <Text text={data.version} />, {data.database}
      </p>
    </section>
  );
}
