import type { JSX } from 'preact';
import type { ErrorGroups } from '../../core/ops/overview.js';
import { param, setParams } from '../address.js';
import { useAnswer } from '../api/query.js';
import { Id } from '../shared/id.js';
import { Time, useStart } from '../shared/time.js';
import { Trouble } from '../shared/trouble.js';
import { Text } from '../text/text.js';
import { countText } from '../text/words.js';

const HOUR_MS = 3_600_000;
const RANGES = { hour: HOUR_MS, day: 24 * HOUR_MS } as const;

/** What runs failed with lately, by code, each with the newest example. */
export function Errors(): JSX.Element {
  const chosen = param('errors') === 'day' ? 'day' : 'hour';
  return (
    <section aria-label="Errors">
      <div class="row wrap">
        <h2>Errors of the last</h2>
        {(['hour', 'day'] as const).map((name) => (
          <button
            key={name}
            type="button"
            aria-pressed={name === chosen}
            onClick={() => setParams({ errors: name === 'hour' ? '' : name })}
          >
            {name}
          </button>
        ))}
      </div>
      <Groups key={chosen} ms={RANGES[chosen]} />
    </section>
  );
}

function Groups({ ms }: { readonly ms: number }): JSX.Element | null {
  const from = useStart(ms, 60_000);
  const { data, error } = useAnswer<ErrorGroups>({ path: 'errors', query: { from }, every: 5000, keeps: true });
  if (data === undefined) return error === null ? null : <Trouble error={error} />;
  if (data.items.length === 0) return <p class="note">No run has failed.</p>;
  return (
    <ul class="groups">
      {data.items.map(({ code, count, lastAt, runId, message, byAgent }) => (
        <li key={code} class="card">
          <p class="row wrap">
            <a href={`/runs?status=failed&error=${code}`}>
              <code>{code}</code> × {countText(count)}
            </a>
            {byAgent.map(({ name, count: some }) => (
              <a key={name} class="faint" href={`/runs?status=failed&error=${code}&agent=${encodeURIComponent(name)}`}>
                <Text text={name} /> {countText(some)}
              </a>
            ))}
            <span class="fill" />
            <span class="faint">
              the newest <Time at={lastAt} />
            </span>
            <Id id={runId} href={`/runs/${runId}`} />
          </p>
          <p>
            <Text text={message} kind="prose" />
          </p>
        </li>
      ))}
      {data.atLeast && <li class="note">There are more than 10,000; the newest were counted.</li>}
    </ul>
  );
}
