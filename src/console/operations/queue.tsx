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
          {byAgent.map((row) => (
            <Row key={row.name} of={row} href={`/runs?status=queued&agent=${encodeURIComponent(row.name)}`}>
              <td>
                {row.atOnce === null ? (
                  'no limit'
                ) : (
                  <>
                    {countText(row.atOnce)}{' '}
                    <meter
                      min={0}
                      max={row.atOnce}
                      value={row.running}
                      aria-label={`${row.running} of ${row.atOnce}`}
                    />
                  </>
                )}
              </td>
            </Row>
          ))}
        </Table>
      )}
      {bySession.length > 0 && (
        <Table name="Queue by session" columns={SESSION_COLUMNS}>
          {bySession.map((row) => (
            <Row key={row.name} of={row} href={`/runs?session=${encodeURIComponent(row.name)}`} />
          ))}
        </Table>
      )}
    </section>
  );
}

interface RowProps {
  readonly of: QueueOverview['bySession'][number];
  readonly href: string;
  /** Cells between the counts and the time. */
  readonly children?: JSX.Element;
}

const Row = ({ of: { name, queued, running, oldestAt }, href, children }: RowProps): JSX.Element => (
  <tr>
    <td>
      <a href={href}>
        <Text text={name} />
      </a>
    </td>
    <td class="number">{countText(queued)}</td>
    <td class="number">{countText(running)}</td>
    {children}
    <td>{oldestAt === null ? '–' : <Time at={oldestAt} />}</td>
  </tr>
);
