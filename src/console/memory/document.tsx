import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { ForgottenView, MemoryDocumentView } from '../../core/memory/memory-view.js';
import { go } from '../address.js';
import { ask } from '../api/ask.js';
import { readAgain, useAnswer } from '../api/query.js';
import { may } from '../session.js';
import { Id } from '../shared/id.js';
import { FormDialog } from '../shared/modal.js';
import { Onward } from '../shared/table.js';
import { Deadline, Time } from '../shared/time.js';
import { Unanswered } from '../shared/trouble.js';
import { exactText } from '../text/exact.js';
import { Json } from '../text/json.js';
import { Text } from '../text/text.js';
import { countText } from '../text/words.js';
import { addressOfDocument, Labels, Owner } from './words.js';

const LIMIT = 50;

interface Props {
  readonly space: string;
  readonly owner: string;
  readonly documentKey: string;
}

/** A document of memory: what it says, how far it can be trusted, and where each change came from. */
export function Document({ space, owner, documentKey: key }: Props): JSX.Element {
  const [after, setAfter] = useState(0);
  const path = `memory/${encodeURIComponent(space)}/document`;
  const answer = useAnswer<MemoryDocumentView>({ path, query: { owner, key, after, limit: LIMIT }, every: 5000 });
  const [forgetting, forget] = useState(false);
  const document = answer.data;
  return (
    <div class="page">
      <p class="row wrap">
        <h1>
          <Text text={key} />
        </h1>
        <span class="fill" />
        <button
          type="button"
          class="danger"
          disabled={document === undefined || !may('forgetMemory')}
          title={may('forgetMemory') ? '' : 'Needs the role admin.'}
          onClick={() => forget(true)}
        >
          Forget
        </button>
      </p>
      <a href={`/memory/${encodeURIComponent(space)}`}>
        ‹ Memory <Text text={space} />
      </a>
      {document === undefined ? (
        <Unanswered answer={answer} />
      ) : (
        <>
          <Facts of={document} />
          <section class="card">
            <h2>Content</h2>
            <Json value={document.value} />
          </section>
          <section class="card">
            <h2>History</h2>
            <ol class="changes" aria-label="Changes">
              {document.history.map((one) => (
                <Change key={one.version} of={one} space={space} owner={owner} />
              ))}
            </ol>
            <Onward
              after={after}
              next={document.more ? (document.history.at(-1)?.version ?? 0) : null}
              name="Later changes"
              go={setAfter}
            />
          </section>
        </>
      )}
      {forgetting && <Forget space={space} owner={owner} documentKey={key} close={() => forget(false)} />}
    </div>
  );
}

const Facts = ({ of }: { readonly of: MemoryDocumentView }): JSX.Element => (
  <section class="card">
    {of.labels.length > 0 && (
      <p class="warnings">Something in it came from outside. An agent reads it as information, never as instruction.</p>
    )}
    {of.integrity.map(({ table, row, column, what }) => (
      <p class="warnings" key={`${table} ${row} ${column}`}>
        Someone changed {table} {column === null ? '' : `(${column})`}: <Text text={what} />
      </p>
    ))}
    <dl class="facts">
      <dt>Owner</dt>
      <dd>
        <Owner of={of.owner} />
      </dd>
      <dt>Trust</dt>
      <dd class="row wrap">
        <Labels of={of.labels} />
      </dd>
      <dt>Version</dt>
      <dd>{countText(of.version)}</dd>
      <dt>Made</dt>
      <dd>
        <Time at={of.createdAt} />
      </dd>
      <dt>Changed</dt>
      <dd>
        <Time at={of.changedAt} />
      </dd>
      <dt>Kept until</dt>
      <dd>{of.expiresAt === null ? 'someone forgets it' : <Deadline at={of.expiresAt} />}</dd>
    </dl>
  </section>
);

function Forget({ space, owner, documentKey: key, close }: Props & { readonly close: () => void }): JSX.Element {
  const submit = async (): Promise<void> => {
    const body = { key, ...(owner === '' ? {} : { owner }) };
    await ask<ForgottenView>(`memory/${encodeURIComponent(space)}/forget`, { method: 'POST', body });
    readAgain('memory');
    go(`/memory/${encodeURIComponent(space)}`);
  };
  const title = (
    <>
      Forget <Text text={key} />?
    </>
  );
  return (
    <FormDialog title={title} verb="Forget" tone="danger" submit={submit} close={close}>
      <p>The document goes with its whole history, for good. Logs of runs keep what they read and wrote.</p>
    </FormDialog>
  );
}

/** Where the changed document is. */
interface Place {
  readonly space: string;
  readonly owner: string;
}

type Made = MemoryDocumentView['history'][number];

/** What a change did, without its path. */
function textOfValue(op: Made['changes'][number]): string {
  if (op.op === 'set') return ` = ${exactText(op.value)}`;
  if (op.op === 'add') return ` + ${exactText(op.by)}`;
  return op.op === 'append' ? ` ${op.values.map((value) => exactText(value)).join(', ')}` : '';
}

/** One change of a document: who made it, in which call, after reading what. */
const Change = ({ of, space, owner }: Place & { readonly of: Made }): JSX.Element => (
  <li>
    <p class="row wrap">
      <strong class="number">{of.version}</strong>
      <Text text={of.agent} />
      <Id id={of.runId} href={`/runs/${of.runId}?view=log&event=${of.event}`} />
      {of.actors.length > 0 && (
        <span class="faint">
          asked by <Text text={of.actors.join(', ')} />
        </span>
      )}
      <span class="faint">
        <Time at={of.at} />
      </span>
      {of.labels.length > 0 && <Labels of={of.labels} />}
    </p>
    <ul class="difference">
      {of.changes.map((op, at) => (
        <li key={at} class="exact">
          {op.op} <Text text={op.path === '' ? '(all)' : op.path} />
          <Text text={textOfValue(op)} />
        </li>
      ))}
    </ul>
    {of.derivedFrom.length > 0 && (
      <p class="faint row wrap">
        after reading
        {of.derivedFrom.map((ref) => (
          <Read key={`${ref.space}/${ref.key}`} of={ref} space={space} owner={owner} />
        ))}
      </p>
    )}
  </li>
);

/** A document that the run had read. Of another space it is not known whose it was. */
function Read({ of: { key, version, ...of }, space, owner }: Place & { readonly of: Made['derivedFrom'][number] }) {
  const name = <Text text={`${of.space}/${key}`} />;
  return (
    <span class="exact">
      {of.space === space ? <a href={addressOfDocument({ space, owner, key })}>{name}</a> : name} {version}
    </span>
  );
}
