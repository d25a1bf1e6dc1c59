import type { JSX } from 'preact';
import type { InterruptionView } from '../../core/interruptions/interruption.js';
import { useAnswer } from '../api/query.js';
import { WaitMark } from '../shared/status.js';
import { Time } from '../shared/time.js';
import { lineOf } from '../text/exact.js';
import { Text } from '../text/text.js';
import type { Interruptions } from './list.js';

const SHOWN = 5;

/** What was decided about calls of the same tool before. */
export function Before({ item }: { readonly item: InterruptionView }): JSX.Element | null {
  const enabled = item.tool !== null;
  const query = { tool: item.tool ?? '', limit: SHOWN };
  const approved = useAnswer<Interruptions>({
    path: 'interruptions',
    query: { ...query, status: 'approved' },
    enabled,
  });
  const rejected = useAnswer<Interruptions>({
    path: 'interruptions',
    query: { ...query, status: 'rejected' },
    enabled,
  });
  const items = [...(approved.data?.items ?? []), ...(rejected.data?.items ?? [])]
    .filter(({ id }) => id !== item.id)
    .toSorted((a, b) => b.requestedAt.localeCompare(a.requestedAt))
    .slice(0, SHOWN);
  if (items.length === 0) return null;
  return (
    <section class="card">
      <h3>
        Decided before about <Text text={item.tool ?? ''} />
      </h3>
      <ul class="before">
        {items.map((one) => {
          const last = one.decisions.at(-1);
          return (
            <li key={one.id}>
              <a href={`/inbox/${one.id}?status=${one.status}`} class="row">
                <WaitMark of={one} />
                <span class="line exact fill">
                  <Text text={lineOf(one.arguments, 300)} />
                </span>
                <span class="faint">
                  <Text text={last?.actor ?? ''} /> <Time at={last?.decidedAt ?? one.requestedAt} />
                </span>
              </a>
            </li>
          );
        })}
      </ul>
    </section>
  );
}
