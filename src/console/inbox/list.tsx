import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import type { InterruptionView, ListedInterruption } from '../../core/interruptions/interruption.js';
import type { Page } from '../../core/page.js';
import { WaitMark } from '../shared/status.js';
import { Deadline, Time } from '../shared/time.js';
import { lineOf } from '../text/exact.js';
import { Text } from '../text/text.js';
import { shortId } from '../text/words.js';

export type Interruptions = Page<ListedInterruption>;

/** What a run waits for, in a sentence. */
export function titleOf({ reason, tool, wait }: InterruptionView): string {
  if (wait?.kind === 'question') return wait.text;
  if (wait?.kind === 'budget')
    return `$${wait.spentUsd} of $${wait.limitUsd} are spent; the next call needs $${wait.neededUsd}`;
  if (reason.code === 'unknown_effect') return `${tool ?? 'A call'} may have happened`;
  return tool === null ? reason.text : `${tool}: ${reason.text}`;
}

interface ListProps {
  readonly items: readonly ListedInterruption[];
  readonly selected: string;
  /** The address that opens an item. */
  readonly open: (id: string) => string;
  readonly checked: ReadonlySet<string>;
  readonly check: (id: string) => void;
}

export function InboxList({ items, selected, open, checked, check }: ListProps): JSX.Element {
  useEffect(() => {
    document.querySelector('.inbox-list [aria-current]')?.scrollIntoView({ block: 'nearest' });
  }, [selected]);
  return (
    <ul class="inbox-list">
      {items.map((item) => (
        <li key={item.id} class={item.status === 'pending' ? 'can-check' : undefined}>
          {item.status === 'pending' && (
            <input
              type="checkbox"
              aria-label={`Select ${shortId(item.id)}`}
              checked={checked.has(item.id)}
              onChange={() => check(item.id)}
            />
          )}
          <a href={open(item.id)} aria-current={item.id === selected ? 'true' : undefined}>
            <span class="row">
              <WaitMark of={item} />
              <span class="fill" />
              <span class="faint">
                {item.expiresAt === null ? <Time at={item.requestedAt} /> : <Deadline at={item.expiresAt} />}
              </span>
            </span>
            <span class="line strong">
              <Text text={titleOf(item)} />
            </span>
            <span class="line exact">
              <Text text={lineOf(item.arguments, 300)} />
            </span>
            <span class="line faint">
              <Text text={item.agent} />
              {item.requiredApprovals > 1 && ` · ${item.decisions.length} of ${item.requiredApprovals} approvals`}
            </span>
          </a>
        </li>
      ))}
    </ul>
  );
}
