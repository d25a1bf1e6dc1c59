import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { AgentView } from '../../core/agents/agent-view.js';
import type { Page as PageOf } from '../../core/page.js';
import type { RunView } from '../../core/runs/run.js';
import { go } from '../address.js';
import { ask } from '../api/ask.js';
import { readAgain, useAnswer } from '../api/query.js';
import { may } from '../session.js';
import { FormDialog } from '../shared/modal.js';
import { Unanswered } from '../shared/trouble.js';
import { useRequestKey } from '../shared/work.js';
import { Text } from '../text/text.js';
import { Detail } from './detail.js';

/** The agents that runs can be started of. */
export function Page({ id }: { readonly id: string }): JSX.Element {
  const answer = useAnswer<PageOf<AgentView>>({ path: 'agents', query: { limit: 200 }, every: 10_000 });
  const [starting, start] = useState<string | null>(null);
  const items = (answer.data?.items ?? []).filter(({ name }) => id === '' || name === id);
  return (
    <div class="page">
      <h1>{id === '' ? 'Agents' : <Text text={id} />}</h1>
      {id !== '' && <a href="/agents">‹ Agents</a>}
      {answer.data === undefined && <Unanswered answer={answer} />}
      {answer.data !== undefined && items.length === 0 && id === '' && (
        <section class="empty">
          <h2>No agent yet</h2>
          <p>
            Agents are defined in <code>holdfast.config.ts</code>.
          </p>
        </section>
      )}
      <ul class="cards">
        {items.map((agent) => (
          <li key={agent.name} class="card">
            <Agent agent={agent} start={() => start(agent.name)} />
          </li>
        ))}
      </ul>
      {id !== '' && <Detail name={id} />}
      {starting !== null && <StartRun agent={starting} close={() => start(null)} />}
    </div>
  );
}

function Agent({ agent, start }: { readonly agent: AgentView; readonly start: () => void }): JSX.Element {
  const { name, version, model, tools, grants, marks, definitionHash } = agent;
  const list = (texts: readonly string[]) =>
    texts.length === 0 ? (
      <span class="faint">none</span>
    ) : (
      texts.map((text) => (
        <div key={text} class="exact">
          <Text text={text} />
        </div>
      ))
    );
  return (
    <>
      <p class="row wrap">
        <strong>
          <a href={`/agents/${encodeURIComponent(name)}`}>
            <Text text={name} />
          </a>
        </strong>
        <span class="faint">
          <Text text={version} /> · <Text text={model ?? 'a model object'} />
        </span>
        <span class="fill" />
        <a href={`/runs?agent=${encodeURIComponent(name)}`}>Runs</a>
        <button
          type="button"
          disabled={!may('startRun')}
          title={may('startRun') ? '' : 'Needs the role operator.'}
          onClick={start}
        >
          Start a run
        </button>
      </p>
      <dl class="facts">
        <dt>Tools</dt>
        <dd>{list(tools)}</dd>
        <dt>Grants</dt>
        <dd>{list(grants)}</dd>
        {marks.length > 0 && (
          <>
            <dt>Not deterministic</dt>
            <dd>
              {marks.map((mark) => (
                <div key={`${mark.tool}/${mark.runId}`}>
                  <a href={`/runs/${mark.runId}?event=${mark.seq}`}>
                    <Text text={mark.tool} />
                  </a>
                </div>
              ))}
            </dd>
          </>
        )}
        <dt>Definition</dt>
        <dd class="exact">
          <Text text={definitionHash} />
        </dd>
      </dl>
    </>
  );
}

function StartRun({ agent, close }: { readonly agent: string; readonly close: () => void }): JSX.Element {
  const keyOf = useRequestKey();
  const submit = async (form: FormData): Promise<void> => {
    const body = bodyOf(agent, form);
    const run = await ask<RunView>('runs', { method: 'POST', body, key: keyOf(body) });
    readAgain('runs');
    go(`/runs/${run.id}`);
  };
  const title = (
    <>
      Start a run of <Text text={agent} />
    </>
  );
  return (
    <FormDialog title={title} verb="Start" submit={submit} close={close}>
      <label for="run-input">Input</label>
      <textarea id="run-input" name="input" rows={5} required dir="auto" autofocus />
      <label for="run-turns">Turns at most (empty: as the agent says)</label>
      <input id="run-turns" name="maxTurns" inputMode="numeric" />
      <label for="run-usd">Budget in dollars (empty: as configured)</label>
      <input id="run-usd" name="usd" inputMode="decimal" />
      <label class="choice">
        <input type="checkbox" name="stream" defaultChecked /> Show what the model says while it answers
      </label>
    </FormDialog>
  );
}

function bodyOf(agent: string, form: FormData): object {
  const textOf = (name: string): string => String(form.get(name) ?? '').trim();
  const [turns, usd] = [textOf('maxTurns'), textOf('usd')];
  return {
    agent,
    input: textOf('input'),
    ...(turns === '' ? {} : { maxTurns: Number(turns) }),
    ...(usd === '' ? {} : { budget: { usd } }),
    ...(form.has('stream') ? { stream: true } : {}),
  };
}
