import type { JSX } from 'preact';
import type { InterruptionContext } from '../../core/interruptions/context.js';
import type { InterruptionStatus, InterruptionView } from '../../core/interruptions/interruption.js';
import { useAnswer } from '../api/query.js';
import { EffectWord } from '../shared/effect.js';
import { WaitMark } from '../shared/status.js';
import { Time } from '../shared/time.js';
import { Text } from '../text/text.js';
import { countText, usdText } from '../text/words.js';

interface Beside {
  /** Undefined: not read yet, or refused. */
  readonly context: InterruptionContext | undefined;
  /** Whether it will not be read later. */
  readonly isSettled: boolean;
}

/** What is known beside an item. */
export function useContextOf(id: string): Beside {
  const { data, error } = useAnswer<InterruptionContext>({ path: `interruptions/${encodeURIComponent(id)}/context` });
  return { context: data, isSettled: data !== undefined || error !== null };
}

type Check = InterruptionContext['checks'][number];
const CHECKED = { allow: '✓ held', ask: '◆ held, and asks', deny: '✕ denied' } as const;

/** What the tool is, and what of it the run holds. Until the context was read: what the item needs. */
export function ToolFacts({
  item,
  context,
}: {
  readonly item: InterruptionView;
  readonly context: InterruptionContext | undefined;
}): JSX.Element | null {
  const checks: readonly (Pick<Check, 'capability'> & Partial<Check>)[] =
    context !== undefined && context.checks.length > 0
      ? context.checks
      : item.capabilities.map((capability) => ({ capability }));
  const tool = context?.tool;
  if (tool == null && checks.length === 0) return null;
  return (
    <>
      {tool != null && (
        <>
          <dt>Tool</dt>
          <dd>
            <strong class="exact">
              <Text text={tool.name} />
            </strong>{' '}
            <EffectWord of={tool.effect} />
            <div class="faint">
              <Text text={tool.description} kind="prose" />
            </div>
          </dd>
        </>
      )}
      {checks.length > 0 && (
        <>
          <dt>Needs</dt>
          <dd>
            {checks.map(({ capability, effect, reason }) => (
              <div key={capability} class="exact">
                <Text text={capability} />{' '}
                {effect !== undefined && (
                  <span class={effect === 'deny' ? 'tone-failed' : 'faint'} title={reason}>
                    {CHECKED[effect]}
                  </span>
                )}
              </div>
            ))}
          </dd>
        </>
      )}
    </>
  );
}

/** What was said and done in the turns before. */
export function StorySoFar({
  context,
  runId,
}: {
  readonly context: InterruptionContext;
  readonly runId: string;
}): JSX.Element {
  const { run, story } = context;
  return (
    <section class="card">
      <h3 class="row">
        <span>The turns before</span>
        <span class="fill" />
        <a href={`/runs/${runId}`} class="faint">
          {countText(run.turns)} {run.turns === 1 ? 'turn' : 'turns'}, {usdText(run.costUsd, 4)}
        </a>
      </h3>
      <ol class="so-far">
        <li>
          <span class="faint">Input</span> <Text text={run.input} kind="prose" />
        </li>
        {story.map((one) => (
          <li key={one.seq}>
            <span class="faint">Turn {one.turn}</span> <Text text={one.text} kind="prose" />
            {one.calls.map((call) => (
              <div key={call.callId} class="exact clipped">
                → <Text text={call.tool} /> <Text text={call.arguments} />
                {call.outcome !== null && (
                  <>
                    {' '}
                    <span class="faint">gave</span> <Text text={call.outcome} />
                  </>
                )}
              </div>
            ))}
          </li>
        ))}
      </ol>
    </section>
  );
}

const asItem = (status: InterruptionStatus) =>
  ({ kind: 'approval', status, reason: { code: 'tool_rule', text: '' } }) as const;

/** What was decided about calls of the same tool before. */
export function Before({ context }: { readonly context: InterruptionContext }): JSX.Element | null {
  const { before, tool } = context;
  if (before.length === 0) return null;
  return (
    <section class="card">
      <h3>
        Decided before about <Text text={tool?.name ?? 'this tool'} />
      </h3>
      <ul class="before">
        {before.map((one) => (
          <li key={one.id}>
            <a href={`/inbox/${one.id}?status=${one.status}`} class="row">
              <WaitMark of={asItem(one.status)} />
              <span class="line exact fill">
                <Text text={one.arguments} />
                {one.difference !== null && ' (edited)'}
              </span>
              <span class="faint">
                <Text text={one.actor ?? ''} /> <Time at={one.decidedAt} />
              </span>
            </a>
            {one.message !== null && (
              <blockquote>
                <Text text={one.message} kind="prose" />
              </blockquote>
            )}
          </li>
        ))}
      </ul>
    </section>
  );
}
