import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { AnchoredReport } from '../../core/evidence/log-view.js';
import { ask } from '../api/ask.js';
import { may } from '../session.js';
import { Trouble } from '../shared/trouble.js';
import { useWork } from '../shared/work.js';
import { Text } from '../text/text.js';

/** Whether the log is what was written, and files to check that elsewhere. */
export function View({ id }: { readonly id: string }): JSX.Element {
  const [report, setReport] = useState<AnchoredReport | null>(null);
  const { busy, trouble, work } = useWork();
  const path = `runs/${encodeURIComponent(id)}`;
  const verify = (): void =>
    work(async () => setReport(await ask<AnchoredReport>(`${path}/verify`, { method: 'POST', body: {} })));
  return (
    <>
      <p class="row wrap">
        <button type="button" class="first" disabled={busy || !may('verifyRun')} onClick={verify}>
          {busy ? 'Verifying…' : report === null ? 'Verify the log' : 'Verify again'}
        </button>
        <a class="button" href={`/api/v1/${path}/proof`} download={`${id}.proof.json`}>
          Download the proof
        </a>
      </p>
      {trouble !== null && <Trouble error={trouble} />}
      {report !== null && <Report report={report} />}
      <p class="note">
        <code>holdfast proof check</code> checks the file without this server, and so does a program that knows the
        format.
      </p>
    </>
  );
}

function Report({ report }: { readonly report: AnchoredReport }): JSX.Element {
  const { ok, events, broken, rows, complete, payloads, anchor, headHash } = report;
  return (
    <section class="card">
      <h3 class={ok ? 'tone-done' : 'tone-failed'}>
        {ok ? `✓ The log is whole up to event ${events}.` : `✕ The log is whole up to event ${events} only.`}
      </h3>
      <dl class="facts">
        {broken !== null && (
          <>
            <dt>Broken</dt>
            <dd>
              <Text text={JSON.stringify(broken)} />
            </dd>
          </>
        )}
        <dt>Ends with its run</dt>
        <dd>{complete ? 'yes' : 'no: the run goes on, or the end is missing'}</dd>
        <dt>Payloads</dt>
        <dd>{payloads}</dd>
        <dt>Last hash</dt>
        <dd class="exact">
          <Text text={headHash} />
        </dd>
        <dt>Anchor</dt>
        <dd class="exact">
          <Text text={JSON.stringify(anchor)} />
        </dd>
      </dl>
      {rows.length > 0 && (
        <>
          <h4>Rows that do not say what the log says</h4>
          <ul>
            {rows.map((row) => (
              <li key={`${row.table}/${row.row}/${row.column ?? ''}`}>
                <code>
                  {row.table}.<Text text={row.column ?? '*'} />
                </code>{' '}
                <Text text={row.what} kind="prose" />
              </li>
            ))}
          </ul>
        </>
      )}
    </section>
  );
}
