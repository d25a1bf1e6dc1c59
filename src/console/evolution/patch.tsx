import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { AgentVersion, EvolutionView } from '../../core/evolution/version.js';
import type { InterruptionView } from '../../core/interruptions/interruption.js';
import type { Page as PageOf } from '../../core/page.js';
import { go } from '../address.js';
import { ask } from '../api/ask.js';
import { readAgain, useAnswer } from '../api/query.js';
import { useKeys } from '../keys.js';
import { may } from '../session.js';
import { Id } from '../shared/id.js';
import { FormDialog } from '../shared/modal.js';
import { WaitMark } from '../shared/status.js';
import { Time } from '../shared/time.js';
import { Unanswered } from '../shared/trouble.js';
import { Block, Text } from '../text/text.js';
import { countText } from '../text/words.js';
import { Changes } from './changes.js';
import { Trial } from './trial.js';
import { VersionMark } from './words.js';

/** One patch: what it changes, how it was tried, who decided, and how its runs end. */
export function Patch({ agent, id }: { readonly agent: string; readonly id: string }): JSX.Element {
  const path = `evolution/${encodeURIComponent(agent)}`;
  const answer = useAnswer<EvolutionView>({ path, every: 4000 });
  if (answer.data === undefined)
    return (
      <div class="page">
        <Unanswered answer={answer} />
      </div>
    );
  const { versions, definitionHash } = answer.data;
  const version = versions.find((one) => one.id === id);
  if (version === undefined)
    return (
      <section class="empty">
        <h1>No such patch</h1>
        <p>
          It is none of the newest {countText(versions.length)} of <Text text={agent} />.{' '}
          <a href={`/evolution/${encodeURIComponent(agent)}`}>Show these</a>
        </p>
      </section>
    );
  return <Shown version={version} isOfToday={version.baseHash === definitionHash} />;
}

function Shown({ version, isOfToday }: { readonly version: AgentVersion; readonly isOfToday: boolean }): JSX.Element {
  const { agent, id, status, measure, report } = version;
  const asked = useAnswer<PageOf<InterruptionView>>({
    path: 'interruptions',
    query: { run: id, tool: 'apply_patch', limit: 10 },
    every: 4000,
  });
  const items = asked.data?.items ?? [];
  const pending = items.find((one) => one.status === 'pending');
  const [open, setOpen] = useState<'share' | 'back' | null>(null);
  const close = (): void => setOpen(null);
  const isLive = status === 'live';
  const mayShare = isLive && may('rolloutAgent');
  const mayTakeBack = isLive && may('rollbackAgent');
  useKeys([
    ...(pending === undefined ? [] : [{ key: 'd', says: 'Decide', act: () => go(`/inbox/${pending.id}`) }]),
    ...(mayShare ? [{ key: 's', says: 'Change the share', act: () => setOpen('share') }] : []),
    ...(mayTakeBack ? [{ key: 'b', says: 'Roll back', act: () => setOpen('back') }] : []),
  ]);
  const hint = (allowed: boolean): string => (allowed ? '' : 'Needs the role approver.');
  return (
    <div class="page">
      <p class="row wrap">
        <h1>
          Patch of <Text text={agent} />
        </h1>
        <VersionMark status={status} />
        <span class="fill" />
        {pending !== undefined && (
          <a class="button" href={`/inbox/${pending.id}`}>
            Decide <kbd>d</kbd>
          </a>
        )}
        {isLive && (
          <>
            <button type="button" disabled={!mayShare} title={hint(mayShare)} onClick={() => setOpen('share')}>
              Change the share <kbd>s</kbd>
            </button>
            <button
              type="button"
              class="danger"
              disabled={!mayTakeBack}
              title={hint(mayTakeBack)}
              onClick={() => setOpen('back')}
            >
              Roll back <kbd>b</kbd>
            </button>
          </>
        )}
      </p>
      <p class="row wrap">
        <a href={`/evolution/${encodeURIComponent(agent)}`}>
          ‹ Evolution of <Text text={agent} />
        </a>
        <a href={`/agents/${encodeURIComponent(agent)}`}>The agent</a>
      </p>
      <section class="card">
        <dl class="facts">
          <dt>Version</dt>
          <dd class="exact">
            <Text text={version.version} />
          </dd>
          <dt>Share</dt>
          <dd>{isLive ? `${version.share} % of new runs` : 'no new run gets it'}</dd>
          <dt>Its runs</dt>
          <dd>
            {countText(version.completed)} of {countText(version.ended)} completed
          </dd>
          <dt>Measure</dt>
          <dd>
            {measure === null
              ? 'only people take it back'
              : `taken back below ${100 * measure.leastRate} % completed, after ${countText(measure.minRuns)} runs`}
          </dd>
          <dt>Proposed</dt>
          <dd>
            <Time at={version.createdAt} /> by the run <Id id={id} href={`/runs/${id}`} />
          </dd>
          {version.appliedAt !== null && (
            <>
              <dt>Live since</dt>
              <dd>
                <Time at={version.appliedAt} />
              </dd>
            </>
          )}
          {version.endedAt !== null && (
            <>
              <dt>Ended</dt>
              <dd>
                <Time at={version.endedAt} /> by {version.actor === null ? 'the engine' : <Text text={version.actor} />}
              </dd>
            </>
          )}
        </dl>
        {version.reason !== null && <Block text={version.reason} kind="prose" />}
      </section>
      <Changes version={version} isOfToday={isOfToday} />
      <Trial report={report} />
      <section class="card">
        <h2>Decisions</h2>
        {items.length === 0 && <p class="note">No one was asked{report === null ? ' yet' : ''}.</p>}
        <ul class="decisions">
          {items.map((one) => (
            <Asked key={one.id} item={one} />
          ))}
        </ul>
      </section>
      {open === 'share' && <Share agent={agent} share={version.share} close={close} />}
      {open === 'back' && <RollBack agent={agent} close={close} />}
    </div>
  );
}

function Asked({ item }: { readonly item: InterruptionView }): JSX.Element {
  const approvals = item.decisions.filter(({ verdict }) => verdict === 'approve').length;
  return (
    <>
      <li class="row wrap">
        <WaitMark of={item} />
        <a href={`/inbox/${item.id}`}>
          {approvals} of {item.requiredApprovals} approvals
        </a>
      </li>
      {item.decisions.map(({ actor, id, verdict, message, decidedAt }) => (
        <li key={id} class="row wrap">
          <strong>
            <Text text={actor} />
          </strong>
          {verdict}
          <span class="faint">
            <Time at={decidedAt} />
          </span>
          {message !== null && <Text text={message} kind="prose" />}
        </li>
      ))}
    </>
  );
}

interface Props {
  readonly agent: string;
  readonly close: () => void;
}

const send = async (agent: string, verb: 'rollout' | 'rollback', body: object): Promise<void> => {
  await ask<EvolutionView>(`evolution/${encodeURIComponent(agent)}/${verb}`, { method: 'POST', body });
  readAgain('evolution');
};

function Share({ agent, share, close }: Props & { readonly share: number }): JSX.Element {
  const submit = (form: FormData): Promise<void> => send(agent, 'rollout', { share: Number(form.get('share')) });
  const title = (
    <>
      Share of new runs of <Text text={agent} />
    </>
  );
  return (
    <FormDialog title={title} verb="Change" submit={submit} close={close}>
      <label for="patch-share">Percent of new runs, 1 to 100</label>
      <input id="patch-share" name="share" type="number" min={1} max={100} required defaultValue={share} autofocus />
      <p class="note">Runs that have begun keep what they have. Who proposed the patch cannot raise its share.</p>
    </FormDialog>
  );
}

function RollBack({ agent, close }: Props): JSX.Element {
  const submit = (form: FormData): Promise<void> => send(agent, 'rollback', { reason: String(form.get('reason')) });
  const title = (
    <>
      Roll the patch of <Text text={agent} /> back?
    </>
  );
  return (
    <FormDialog title={title} verb="Roll back" tone="danger" submit={submit} close={close}>
      <p>New runs have the definition of the configuration. Runs that have begun keep what they have.</p>
      <label for="patch-reason">Reason</label>
      <textarea id="patch-reason" name="reason" rows={3} maxLength={8192} required dir="auto" autofocus />
    </FormDialog>
  );
}
