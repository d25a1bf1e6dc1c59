import type { JSX } from 'preact';
import type { QueueOverview } from '../../core/ops/overview.js';
import { useAnswer } from '../api/query.js';
import { Table } from '../shared/table.js';
import { Time } from '../shared/time.js';
import { Trouble } from '../shared/trouble.js';
import { Text } from '../text/text.js';
import { countText } from '../text/words.js';

const COLUMNS = { Agent: 'text', Queued: 'number', 'At work': 'number', 'At once': 'text', Waits: 'text' } as const;
const SESSION_COLUMNS = { Session: 'text', Queued: 'number', 'At work': 'number', Waits: 'text' } as const;

const Since = ({ at }: { readonly at: string | null }): JSX.Element => (at === null ? <>–</> : <Time at={at} />);

/** What waits in the queue, by agent and by session. */
export function Queue(): JSX.Element | null {
  const { data, error } = useAnswer<QueueOverview>({ path: 'queue', every: 3000 });
  if (data === undefined) return error === null ? null : <Trouble error={error} />;
  const { queued, running, oldestAt, byAgent, bySession, tenantAtOnce, atLeast } = data;
  return (
    <section class="queue" aria-label="Queue">
      <h2>Queue</h2>
      <p class="row wrap">
        <a href="/runs?status=queued">
          <strong>
            {countText(queued)}
            {atLeast && '+'}
          </strong>{' '}
          queued
        </a>
        <a href="/runs?status=running">{countText(running)} at work</a>
        {oldestAt !== null && (
          <span>
            the first since <Time at={oldestAt} />
          </span>
        )}
        {tenantAtOnce !== null && <span class="faint">of this tenant {countText(tenantAtOnce)} may work at once</span>}
      </p>
      {byAgent.length > 0 && (
        <Table name="Queue by agent" columns={COLUMNS}>
          {byAgent.map(({ name, queued: waits, running: works, oldestAt: since, atOnce }) => (
            <tr key={name}>
              <td>
                <a href={`/runs?status=queued&agent=${encodeURIComponent(name)}`}>
                  <Text text={name} />
                </a>
              </td>
              <td class="number">{countText(waits)}</td>
              <td class="number">{countText(works)}</td>
              <td>
                {atOnce === null ? (
                  'no limit'
                ) : (
                  <>
                    {countText(atOnce)}{' '}
                    <meter min={0} max={atOnce} value={works} aria-label={`${works} of ${atOnce}`} />
                  </>
                )}
              </td>
              <td>
                <Since at={since} />
              </td>
            </tr>
          ))}
        </Table>
      )}
      {bySession.length > 0 && (
        <Table name="Queue by session" columns={SESSION_COLUMNS}>
          {bySession.map(({ name, queued: waits, running: works, oldestAt: since }) => (
            <tr key={name}>
              <td>
                <a href={`/runs?session=${encodeURIComponent(name)}`}>
                  <Text text={name} />
                </a>
              </td>
              <td class="number">{countText(waits)}</td>
              <td class="number">{countText(works)}</td>
              <td>
                <Since at={since} />
              </td>
            </tr>
          ))}
        </Table>
      )}
    </section>
  );
}
