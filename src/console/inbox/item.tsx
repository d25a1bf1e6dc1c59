import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { DecisionView, InterruptionView } from '../../core/interruptions/interruption.js';
import { go } from '../address.js';
import { useAnswer } from '../api/query.js';
import { type Key, useKeys } from '../keys.js';
import { Id } from '../shared/id.js';
import { WaitMark } from '../shared/status.js';
import { Deadline, Time } from '../shared/time.js';
import { Trouble } from '../shared/trouble.js';
import { Json } from '../text/json.js';
import { Text } from '../text/text.js';
import { ActButton } from './act-button.js';
import { KEY, nameOfAct, notesOf, useActs } from './acts.js';
import { Before, StorySoFar, ToolFacts, useContextOf } from './context.js';
import { type Act, Decide } from './decide.js';
import { titleOf } from './list.js';

function Decided({ decision }: { readonly decision: DecisionView }): JSX.Element {
  return (
    <li>
      <strong>
        <Text text={decision.actor} />
      </strong>{' '}
      {decision.verdict} <Time at={decision.decidedAt} />
      {decision.message !== null && (
        <blockquote>
          <Text text={decision.message} kind="prose" />
        </blockquote>
      )}
      {decision.edit !== null && <Json value={decision.edit.difference} />}
      {decision.value !== null && <Json value={decision.value} />}
    </li>
  );
}

/** What is worth a look before one decides. */
function Notes({ notes }: { readonly notes: readonly string[] }): JSX.Element | null {
  if (notes.length === 0) return null;
  return (
    <ul class="warnings">
      {notes.map((note) => (
        <li key={note}>
          <Text text={note} kind="prose" />
        </li>
      ))}
    </ul>
  );
}

/** All arguments. `seen` is told when their end was on the screen. */
function Arguments({ item, seen }: { readonly item: InterruptionView; readonly seen: () => void }): JSX.Element {
  const end = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (end.current === null) return;
    const watch = new IntersectionObserver((entries) => entries.some((one) => one.isIntersecting) && seen());
    watch.observe(end.current);
    return () => watch.disconnect();
  }, []);
  return (
    <section class="card">
      <h3>What it will do</h3>
      <div class="arguments" tabIndex={0} role="group" aria-label="Arguments">
        <Json value={item.arguments} whole />
        <div ref={end} class="end" />
      </div>
    </section>
  );
}

function Question({ item: { wait } }: { readonly item: InterruptionView }): JSX.Element | null {
  if (wait?.kind !== 'question') return null;
  return (
    <section class="card">
      <h3>Question</h3>
      <p class="sentence">
        <Text text={wait.text} kind="prose" />
      </p>
      {wait.choices !== null && (
        <ul>
          {wait.choices.map((choice) => (
            <li key={choice}>
              <Text text={choice} />
            </li>
          ))}
        </ul>
      )}
      {wait.schema !== null && <Json value={wait.schema} />}
    </section>
  );
}

function Budget({ item: { wait } }: { readonly item: InterruptionView }): JSX.Element | null {
  if (wait?.kind !== 'budget') return null;
  return (
    <section class="card">
      <h3>
        Budget of the {wait.scope} <Text text={wait.name} />
      </h3>
      <dl class="facts">
        <dt>Spent</dt>
        <dd>${wait.spentUsd}</dd>
        <dt>Limit</dt>
        <dd>${wait.limitUsd}</dd>
        <dt>The next call needs</dt>
        <dd>${wait.neededUsd}</dd>
      </dl>
    </section>
  );
}

interface ItemProps {
  readonly id: string;
  /** Goes to the next item. */
  readonly openNext: () => void;
  readonly back: string;
}

export function Item({ id, openNext, back }: ItemProps): JSX.Element {
  const answer = useAnswer<InterruptionView>({ path: `interruptions/${id}`, every: 3000 });
  const item = answer.data;
  return (
    <article class="inbox-item" aria-label="Interruption">
      <a class="back" href={back}>
        ‹ Inbox
      </a>
      {item === undefined && answer.error !== null && (
        <Trouble error={answer.error} again={() => void answer.refetch()} />
      )}
      {item !== undefined && <Opened item={item} openNext={openNext} />}
    </article>
  );
}

function Opened({ item, openNext }: { readonly item: InterruptionView; readonly openNext: () => void }): JSX.Element {
  const [act, setAct] = useState<Act | null>(null);
  const [seen, setSeen] = useState(item.arguments === null);
  // Other arguments are read to their end, too.
  useEffect(() => setSeen(item.arguments === null), [item.digest]);
  const { context, isSettled } = useContextOf(item.id);
  const { acts, canNow, blocked } = useActs(item, { seen, isSettled });
  useKeys([
    ...acts.map((one): Key => ({ key: KEY[one], says: nameOfAct(one, item), act: () => canNow(one) && setAct(one) })),
    { key: 'u', says: 'Open the run', act: () => go(`/runs/${item.runId}`) },
  ]);
  return (
    <>
      <header class="item-head">
        <p class="row">
          <WaitMark of={item} />
          <span class="fill" />
          {item.expiresAt !== null && (
            <span class="faint">
              {item.status === 'pending' ? 'expires ' : 'would have expired '}
              <Deadline at={item.expiresAt} />
            </span>
          )}
        </p>
        <h2>
          <Text text={titleOf(item)} kind="prose" />
        </h2>
        <p class="faint">
          <Text text={item.agent} /> · asked <Time at={item.requestedAt} /> · run{' '}
          <Id id={item.runId} href={`/runs/${item.runId}`} />
          {context !== undefined && context.run.startedBy.length > 0 && (
            <>
              {' '}
              · started by <Text text={context.run.startedBy.join(', ')} />
            </>
          )}
        </p>
      </header>
      <Notes notes={notesOf(item, context)} />
      {item.reason.code === 'unknown_effect' && (
        <section class="card">
          <h3>What is not known</h3>
          <p class="sentence">
            <Text text={item.reason.text} kind="prose" />
          </p>
        </section>
      )}
      <Question item={item} />
      <Budget item={item} />
      {item.arguments !== null && <Arguments key={item.digest} item={item} seen={() => setSeen(true)} />}
      <section class="card">
        <h3>Terms</h3>
        <dl class="facts">
          <dt>Why it asks</dt>
          <dd>
            <Text text={item.reason.text} kind="prose" />
          </dd>
          <ToolFacts item={item} context={context} />
          <dt>Approvals</dt>
          <dd>
            {item.decisions.filter(({ verdict }) => verdict === 'approve').length} of {item.requiredApprovals}
            {item.separateRequester && ', not by who asked for the run'}
          </dd>
          <dt>Digest</dt>
          <dd class="exact">
            <Text text={item.digest} />
          </dd>
        </dl>
        {item.decisions.length > 0 && (
          <ul class="decisions">
            {item.decisions.map((decision) => (
              <Decided key={decision.id} decision={decision} />
            ))}
          </ul>
        )}
      </section>
      {context !== undefined && <StorySoFar context={context} runId={item.runId} />}
      {context !== undefined && <Before context={context} />}
      {acts.length > 0 && (
        <footer class="verbs">
          {blocked !== null && <p class="note">{blocked}</p>}
          {!seen && acts.includes('approve') && <p class="note">Read the arguments to their end to approve.</p>}
          <div class="row">
            {acts.map((one) => (
              <ActButton key={one} act={one} item={item} canNow={canNow} begin={setAct}>
                {' '}
                <kbd>{KEY[one]}</kbd>
              </ActButton>
            ))}
          </div>
        </footer>
      )}
      {act !== null && (
        <Decide
          item={item}
          act={act}
          name={act === 'edit' ? 'Approve with these arguments' : nameOfAct(act, item)}
          schema={context?.tool?.input ?? null}
          close={(decided) => {
            setAct(null);
            if (decided) openNext();
          }}
        />
      )}
    </>
  );
}
