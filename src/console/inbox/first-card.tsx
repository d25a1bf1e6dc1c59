import type { JSX } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { ListedInterruption } from '../../core/interruptions/interruption.js';
import { WaitMark } from '../shared/status.js';
import { Deadline, Time } from '../shared/time.js';
import { Json } from '../text/json.js';
import { Text } from '../text/text.js';
import { shortId } from '../text/words.js';
import { ActButton } from './act-button.js';
import { nameOfAct, notesOf, useActs } from './acts.js';
import { useContextOf } from './context.js';
import { type Act, Decide } from './decide.js';
import { titleOf } from './list.js';

/** Longer arguments are read where there is room for them. */
const LINES_MOST = 8;
const DECIDED_HERE: readonly Act[] = ['reject', 'approve'];

interface FirstCardProps {
  readonly item: ListedInterruption;
  /** The address that opens it. */
  readonly href: string;
  readonly isChecked: boolean;
  readonly check: () => void;
}

/** The first of what waits, on a phone: with short arguments, and nothing to look at besides, it is decided in the list. */
export function FirstCard({ item, href, isChecked, check }: FirstCardProps): JSX.Element {
  const [act, setAct] = useState<Act | null>(null);
  const [fits, setFits] = useState(false);
  const text = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    if (text.current === null) return;
    const line = Number.parseFloat(getComputedStyle(text.current).lineHeight);
    setFits(text.current.scrollHeight <= LINES_MOST * line);
  }, [item.digest]);
  const isShort = item.arguments === null || fits;
  const { context, isSettled } = useContextOf(item.id);
  const { acts, canNow, blocked } = useActs(item, { seen: isShort, isSettled });
  const isPlain = item.kind === 'approval' && item.reason.code !== 'unknown_effect' && item.cut === null;
  const isWhole = isPlain && isShort && context !== undefined && notesOf(item, context).length === 0;
  return (
    <article class="first-card" aria-label="Next to decide">
      <p class="row">
        <input type="checkbox" aria-label={`Select ${shortId(item.id)}`} checked={isChecked} onChange={check} />
        <WaitMark of={item} />
        <span class="fill" />
        <span class="faint">
          {item.expiresAt === null ? <Time at={item.requestedAt} /> : <Deadline at={item.expiresAt} />}
        </span>
      </p>
      <h2>
        <a href={href}>
          <Text text={titleOf(item)} kind="prose" />
        </a>
      </h2>
      {isPlain && item.arguments !== null && (
        <div ref={text}>
          <Json value={item.arguments} whole />
        </div>
      )}
      <p class="faint">
        <Text text={item.agent} />
        {item.requiredApprovals > 1 &&
          ` · ${item.decisions.filter(({ verdict }) => verdict === 'approve').length} of ${item.requiredApprovals} approvals`}
      </p>
      {isWhole && blocked === null ? (
        <div class="row">
          {acts
            .filter((one) => DECIDED_HERE.includes(one))
            .map((one) => (
              <ActButton key={one} act={one} item={item} canNow={canNow} begin={setAct} />
            ))}
        </div>
      ) : (
        <a class="button" href={href}>
          Open
        </a>
      )}
      {act !== null && (
        <Decide item={item} act={act} name={nameOfAct(act, item)} schema={null} close={() => setAct(null)} />
      )}
    </article>
  );
}
