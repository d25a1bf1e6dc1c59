import type { JSX } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import type { RunEvent } from '../../core/log/event.js';
import type { Said } from '../api/live.js';
import { EffectWord } from '../shared/effect.js';
import { exactText } from '../text/exact.js';
import { Json } from '../text/json.js';
import { Block, Text } from '../text/text.js';
import { countText, usdText } from '../text/words.js';
import { type StoryCall, type StoryPart, type StoryTurn, storyOf } from './story-fold.js';

interface StoryProps {
  readonly events: readonly RunEvent[];
  readonly said: Said | null;
  readonly select: (seq: number) => void;
}

/** So many pieces are drawn at first, the last ones, and so many calls of a turn. More are drawn when they are asked for. */
const SHOWN = 40;

/** The run as prose: what was asked, what the models said, what each call did. */
export function Story({ events, said, select }: StoryProps): JSX.Element {
  const pieces = useMemo(() => storyOf(events), [events]);
  const [shown, show] = useState(SHOWN);
  const [first, ...rest] = pieces;
  const hidden = Math.max(0, rest.length - shown);
  return (
    <div class="story">
      {first !== undefined && <Part key={first.seq} part={first} select={select} />}
      {hidden > 0 && (
        <p class="note">
          <button type="button" onClick={() => show(shown + SHOWN)}>
            Show {countText(Math.min(SHOWN, hidden))} of {countText(hidden)} earlier ones
          </button>
        </p>
      )}
      {rest.slice(hidden).map((part) => (
        <Part key={part.seq} part={part} select={select} />
      ))}
      {said !== null && (
        <section class="turn saying">
          <p class="faint">
            Turn {said.turn}, as it is said{said.dropped > 0 && ` (${said.dropped} pieces are missing)`}
          </p>
          <Block text={said.text} kind="prose" />
        </section>
      )}
    </div>
  );
}

function Part({ part, select }: { readonly part: StoryPart; readonly select: StoryProps['select'] }): JSX.Element {
  if (part.type === 'input')
    return (
      <section class="turn input">
        <p class="who">Input</p>
        <Input input={part.input} />
      </section>
    );
  if (part.type === 'note')
    return (
      <p class="note">
        <button type="button" class="plain" onClick={() => select(part.seq)}>
          {part.text}
        </button>
      </p>
    );
  return <Turn part={part} select={select} />;
}

function Input({ input }: { readonly input: unknown }): JSX.Element {
  if (typeof input === 'string') return <Block text={input} kind="prose" />;
  return <Json value={input} />;
}

function Turn({ part, select }: { readonly part: StoryTurn; readonly select: StoryProps['select'] }): JSX.Element {
  const [shown, show] = useState(SHOWN);
  const hidden = Math.max(0, part.calls.length - shown);
  return (
    <section class="turn" aria-label={`Turn ${part.turn}`}>
      <p class="who row wrap">
        <strong>
          <Text text={part.agent} />
        </strong>
        <span class="fill" />
        <button type="button" class="plain faint" onClick={() => select(part.seq)}>
          turn {part.turn} · <Text text={part.model} /> · {countText(part.tokens)} tokens
          {part.costUsd !== undefined && ` · ${usdText(part.costUsd, 4)}`}
        </button>
      </p>
      {part.texts.map((text) => (
        <Block key={text} text={text} kind="prose" />
      ))}
      {part.calls.slice(0, shown).map((call) => (
        <Call key={call.callId} call={call} select={select} />
      ))}
      {hidden > 0 && (
        <p class="note">
          <button type="button" onClick={() => show(shown + SHOWN)}>
            Show {countText(Math.min(SHOWN, hidden))} of {countText(hidden)} more calls
          </button>
        </p>
      )}
    </section>
  );
}

const DID = {
  approve: 'approved',
  reject: 'rejected',
  answer: 'answered',
  expire: 'let it expire',
  cancel: 'cancelled',
} as const;

function Call({ call, select }: { readonly call: StoryCall; readonly select: StoryProps['select'] }): JSX.Element {
  const { checked, outcome, decisions, childRunId } = call;
  const edited = decisions.find(({ edit }) => edit !== undefined)?.edit;
  return (
    <div class={`call ${outcome === null ? 'open' : outcome.type}`}>
      <p class="row">
        <strong class="exact">
          <Text text={checked.tool} />
        </strong>
        <EffectWord of={checked.effect} />
        <span class="fill" />
        <button type="button" class="plain" onClick={() => select(call.seq)}>
          event {call.seq}
        </button>
      </p>
      <div class="exact clipped">
        <Text text={exactText(checked.arguments)} />
      </div>
      {edited !== undefined && (
        <div class="exact clipped">
          edited to <Text text={exactText(edited.arguments)} />
        </div>
      )}
      {decisions.map((one) => (
        <p key={one.id}>
          <Text text={one.actor} /> {DID[one.verdict]}
          {one.message !== null && (
            <>
              : <Text text={one.message} kind="prose" />
            </>
          )}
        </p>
      ))}
      {childRunId !== null && (
        <p>
          <a href={`/runs/${childRunId}`}>Open the run that it started</a>
        </p>
      )}
      <Outcome call={call} />
    </div>
  );
}

function Outcome({ call: { outcome, checked } }: { readonly call: StoryCall }): JSX.Element {
  if (outcome === null)
    return <p class="faint">{checked.decision === 'ask' ? 'Waits for a person.' : 'Not finished.'}</p>;
  if (outcome.type === 'output')
    return (
      <details>
        <summary>
          <span class="tone-done">✓</span>{' '}
          <span class="line exact">
            <Text text={exactText(outcome.output).slice(0, 200)} />
          </span>
        </summary>
        <Json value={outcome.output} />
      </details>
    );
  return (
    <p class="outcome-bad">
      {outcome.type === 'error' ? <code>{outcome.code}</code> : <strong>{outcome.why.replace('_', ' ')}</strong>}{' '}
      <Text text={outcome.message} kind="prose" />
    </p>
  );
}
