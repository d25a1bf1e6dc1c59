import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { SessionItem, SessionView } from '../../core/agents/session.js';
import type { Page as PageOf } from '../../core/page.js';
import { useAnswer } from '../api/query.js';
import { ChangedRows } from '../shared/changed-rows.js';
import { Id } from '../shared/id.js';
import { Onward } from '../shared/table.js';
import { Time } from '../shared/time.js';
import { Unanswered } from '../shared/trouble.js';
import { Json } from '../text/json.js';
import { Block, Text } from '../text/text.js';
import { countText } from '../text/words.js';

const LIMIT = 100;

/** One conversation: its items in their order, each with the run that it came from. */
export function Page({ id }: { readonly id: string }): JSX.Element {
  const path = `sessions/${encodeURIComponent(id)}`;
  const answer = useAnswer<SessionView>({ path, every: 3000 });
  const [after, setAfter] = useState(0);
  const query = { cursor: after, limit: LIMIT };
  const items = useAnswer<PageOf<SessionItem>>({ path: `${path}/items`, query, every: 3000 });
  if (answer.data === undefined)
    return (
      <div class="page">
        <h1>
          Session <Text text={id} />
        </h1>
        <Unanswered answer={answer} />
      </div>
    );
  const { items: count, bytes, runId, createdAt, updatedAt } = answer.data;
  return (
    <div class="page">
      <h1>
        Session <Text text={id} />
      </h1>
      <p class="row wrap">
        <span>{countText(count)} items</span>
        <span class="faint">{countText(bytes)} bytes</span>
        <span class="faint">
          made <Time at={createdAt} />, changed <Time at={updatedAt} />
        </span>
        {runId !== null && (
          <span>
            in it now: <Id id={runId} href={`/runs/${runId}`} />
          </span>
        )}
        <span class="fill" />
        <a href={`/runs?session=${encodeURIComponent(id)}`}>Its runs</a>
      </p>
      {items.data === undefined && <Unanswered answer={items} />}
      <ChangedRows rows={items.data?.unreadable} />
      <ol class="story">
        {items.data?.items.map((item) => (
          <Item key={item.seq} of={item} />
        ))}
      </ol>
      <Onward
        after={after}
        next={items.data?.nextCursor == null ? null : Number(items.data.nextCursor)}
        go={setAfter}
      />
    </div>
  );
}

/** The text of a message; null: it is another item. */
function textOf({ content }: SessionItem['item']): string | null {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return null;
  const texts = content.flatMap((part) =>
    typeof part === 'object' && part !== null && !Array.isArray(part) && typeof part['text'] === 'string'
      ? [part['text']]
      : [],
  );
  return texts.length === content.length && texts.length > 0 ? texts.join('\n') : null;
}

function Item({ of: { seq, runId, item } }: { readonly of: SessionItem }): JSX.Element {
  const text = textOf(item);
  const role = typeof item['role'] === 'string' ? item['role'] : item['type'];
  return (
    <li class={role === 'user' ? 'turn input' : 'turn'}>
      <p class="who row">
        <span class="faint">{seq}</span>
        <strong>
          <Text text={typeof role === 'string' ? role : 'item'} />
        </strong>
        <span class="fill" />
        {runId !== null && <Id id={runId} href={`/runs/${runId}`} />}
      </p>
      {text === null ? <Json value={item} /> : <Block text={text} kind="prose" />}
    </li>
  );
}
