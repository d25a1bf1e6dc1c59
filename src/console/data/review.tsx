import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { Page as PageOf } from '../../core/page.js';
import type { TrajectorySummary } from '../../core/trajectories/trajectory.js';
import { param, setParams } from '../address.js';
import { ask } from '../api/ask.js';
import { useEvents } from '../api/live.js';
import { readAgain, useAnswer } from '../api/query.js';
import { useKeys } from '../keys.js';
import { Story } from '../run/story.js';
import { may } from '../session.js';
import { Id } from '../shared/id.js';
import { RunMark } from '../shared/status.js';
import { Trouble, Unanswered } from '../shared/trouble.js';
import { useWork } from '../shared/work.js';
import { Text } from '../text/text.js';
import { countText, usdText } from '../text/words.js';

const LIMIT = 100;
const MARKS = [
  ['1', 0, 'wrong'],
  ['2', 0.25, 'poor'],
  ['3', 0.5, 'half'],
  ['4', 0.75, 'good'],
  ['5', 1, 'right'],
] as const;

/** Trajectories that are over and that no one has judged, one after the other. */
export function Review(): JSX.Element {
  const query = { limit: LIMIT, status: 'completed' };
  const answer = useAnswer<PageOf<TrajectorySummary>>({ path: 'trajectories', query, every: 5000 });
  const [judged, setJudged] = useState<ReadonlySet<string>>(new Set());
  const wanted = param('at');
  // The one that is read stays, also where others come before it or someone else judges it meanwhile.
  const open =
    answer.data?.items.filter(
      ({ runId, totalReward }) => (totalReward === null || runId === wanted) && !judged.has(runId),
    ) ?? [];
  const at = Math.max(
    0,
    open.findIndex(({ runId }) => runId === wanted),
  );
  const current = open[at];
  useEffect(() => {
    if (current !== undefined && current.runId !== wanted) setParams({ at: current.runId });
  }, [current?.runId, wanted]);
  const step = (by: number): void => {
    const next = open[Math.max(0, Math.min(open.length - 1, at + by))];
    if (next !== undefined) setParams({ at: next.runId });
  };
  useKeys([
    { key: 'ArrowRight', says: 'Next without a reward', act: () => step(1) },
    { key: 'ArrowLeft', says: 'Previous', act: () => step(-1) },
  ]);
  if (answer.data === undefined) return <Unanswered answer={answer} />;
  if (current === undefined)
    return (
      <section class="empty">
        <h2>Nothing to judge</h2>
        <p>
          {answer.data.items.length === 0
            ? 'No run has been completed yet.'
            : `Each of the newest ${LIMIT} completed runs has a reward.`}
        </p>
      </section>
    );
  const done = (): void => {
    const next = open[at + 1] ?? open[at - 1];
    setJudged(new Set([...judged, current.runId]));
    setParams({ at: next?.runId ?? '' });
  };
  return (
    <>
      <p class="row wrap" role="status">
        {at + 1} of {open.length} without a reward
        <span class="fill" />
        <button type="button" disabled={at === 0} onClick={() => step(-1)}>
          Previous <kbd>←</kbd>
        </button>
        <button type="button" disabled={at === open.length - 1} onClick={() => step(1)}>
          Next <kbd>→</kbd>
        </button>
      </p>
      <Judge key={current.runId} of={current} done={done} />
    </>
  );
}

function Judge({ of, done }: { readonly of: TrajectorySummary; readonly done: () => void }): JSX.Element {
  const { runId } = of;
  const { events, error } = useEvents(runId);
  const [reward, setReward] = useState('');
  const [reason, setReason] = useState('');
  const { busy, trouble, work } = useWork();
  const isNumber = /^-?\d+(\.\d+)?$/.test(reward);
  const mayJudge = may('rewardRun');
  const send = (): void => {
    if (!isNumber || !mayJudge || busy) return;
    work(async () => {
      const body = { reward: Number(reward), ...(reason.trim() === '' ? {} : { reason: reason.trim() }) };
      await ask(`runs/${encodeURIComponent(runId)}/reward`, { method: 'POST', body });
      readAgain('trajectories');
      readAgain(`runs/${runId}`);
      readAgain('tasks');
      done();
    });
  };
  useKeys([
    ...MARKS.map(([key, value, says]) => ({ key, says: `${says}: ${value}`, act: () => setReward(String(value)) })),
    { key: 'Enter', says: 'Give the reward', act: send },
  ]);
  return (
    <section class="judge" aria-label="Judge">
      <p class="row wrap">
        <RunMark status={of.status} />{' '}
        <strong>
          <Text text={of.agent} />
        </strong>
        <Id id={runId} href={`/runs/${runId}`} />
        <span class="faint">
          {of.totalSteps === null ? '' : `${countText(of.totalSteps)} steps, `}
          {countText(of.usage.totalTokens)} tokens, {usdText(of.costUsd, 4)}
        </span>
      </p>
      {of.totalReward !== null && <p class="note">It has a reward: {of.totalReward}. Another one is added to it.</p>}
      {error !== null && <Trouble error={error} />}
      <Story events={events} said={null} select={(seq) => open(`/runs/${runId}?event=${seq}`, '_blank', 'noopener')} />
      <form
        class="card judge-verbs"
        onSubmit={(event) => {
          event.preventDefault();
          send();
        }}
      >
        <div class="row wrap" role="group" aria-label="Reward">
          {MARKS.map(([key, value, says]) => (
            <button
              key={key}
              type="button"
              aria-pressed={reward === String(value)}
              onClick={() => setReward(String(value))}
            >
              {says} <kbd>{key}</kbd>
            </button>
          ))}
          <input
            aria-label="Reward"
            size={6}
            inputMode="decimal"
            value={reward}
            onInput={(event) => setReward(event.currentTarget.value.trim())}
          />
          <input
            class="fill"
            aria-label="Reason"
            placeholder="Reason"
            maxLength={8192}
            value={reason}
            onInput={(event) => setReason(event.currentTarget.value)}
          />
          <button type="submit" class="first" disabled={!isNumber || !mayJudge || busy}>
            Give <kbd>Enter</kbd>
          </button>
        </div>
        {!mayJudge && <p class="note">Needs the role operator.</p>}
        {trouble !== null && <Trouble error={trouble} />}
      </form>
    </section>
  );
}
