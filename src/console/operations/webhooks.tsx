import type { JSX } from 'preact';
import type { WebhookList, WebhookView } from '../../core/agents/webhook.js';
import { useAnswer } from '../api/query.js';
import { ChangedRows } from '../shared/changed-rows.js';
import { Table } from '../shared/table.js';
import { Time } from '../shared/time.js';
import { Trouble } from '../shared/trouble.js';
import { Text } from '../text/text.js';
import { countText } from '../text/words.js';

const COLUMNS = {
  Webhook: 'text',
  State: 'text',
  Delivered: 'number',
  Last: 'text',
  'Given up': 'number',
  Behind: 'number',
  'Next event': 'text',
} as const;
const TONES = { waiting: 'quiet', told: 'done', behind: 'waiting', failing: 'failed' } as const;

/** The webhooks of the configuration: what they were told last, and why one fails. */
export function Webhooks(): JSX.Element | null {
  const { data, error } = useAnswer<WebhookList>({ path: 'webhooks', every: 5000 });
  if (data === undefined) return error === null ? null : <Trouble error={error} />;
  return (
    <section aria-label="Webhooks">
      <h2>Webhooks</h2>
      {data.items.length === 0 ? (
        <p class="note">The configuration names no webhook.</p>
      ) : (
        <Table name="Webhooks" columns={COLUMNS}>
          {data.items.map((webhook) => (
            <Row key={webhook.name} of={webhook} />
          ))}
        </Table>
      )}
      <ChangedRows rows={data.unreadable} />
    </section>
  );
}

const Row = ({ of }: { readonly of: WebhookView }): JSX.Element => (
  <tr>
    <td title={of.kinds.join(', ')}>
      <Text text={of.name} />
    </td>
    <td>
      <span class={`status tone-${TONES[of.state]}`}>{of.state}</span>
    </td>
    <td class="number">{countText(of.delivered)}</td>
    <td>{of.deliveredAt === null ? '–' : <Time at={of.deliveredAt} />}</td>
    <td class="number">{countText(of.givenUp)}</td>
    <td class="number">{countText(of.behind)}</td>
    <td>
      {of.problem === null ? (
        '–'
      ) : (
        <>
          failed {countText(of.tries)} times: <Text text={of.problem} kind="prose" />
          {of.nextTryAt !== null && (
            <>
              , next try <Time at={of.nextTryAt} />
            </>
          )}
        </>
      )}
    </td>
  </tr>
);
