import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { ExportView } from '../../core/exports/export.js';
import type { Page as PageOf } from '../../core/page.js';
import { ask } from '../api/ask.js';
import { readAgain, useAnswer } from '../api/query.js';
import { may } from '../session.js';
import { ChangedRows } from '../shared/changed-rows.js';
import { Id } from '../shared/id.js';
import { FormDialog } from '../shared/modal.js';
import { Time } from '../shared/time.js';
import { Trouble, Unanswered } from '../shared/trouble.js';
import { useWork } from '../shared/work.js';
import { Text } from '../text/text.js';
import { countText } from '../text/words.js';

const TONES = {
  ...{ queued: 'quiet', running: 'running', completed: 'done' },
  ...{ failed: 'failed', cancelled: 'quiet' },
} as const;
const FORMATS = [
  ...(['messages', 'prime-rl', 'sharegpt', 'preference', 'openai', 'inspect', 'atif', 'jsonl'] as const),
  ...(['mini-swe-agent', 'openhands'] as const),
] as const;
const LIMIT = 50;

/** Exports, newest first, with how far each is and its files. */
export function Exports(): JSX.Element {
  const query = { limit: LIMIT };
  const answer = useAnswer<PageOf<ExportView>>({ path: 'trajectories/exports', query, every: 2000 });
  const [starts, setStarts] = useState(false);
  return (
    <section aria-label="Exports">
      <p class="row">
        <button type="button" disabled={!may('startExport')} onClick={() => setStarts(true)}>
          Start an export
        </button>
        {!may('startExport') && <span class="note">Needs the role operator.</span>}
      </p>
      {answer.data === undefined && <Unanswered answer={answer} />}
      {answer.data?.items.length === 0 && answer.data.unreadable === undefined && (
        <section class="empty">
          <h2>No export yet</h2>
          <p>An export writes trajectories as training data.</p>
        </section>
      )}
      <ChangedRows rows={answer.data?.unreadable} />
      <ul class="groups">
        {answer.data?.items.map((one) => (
          <Export key={one.id} of={one} />
        ))}
      </ul>
      {answer.data?.nextCursor != null && <p class="note">The newest {LIMIT} are shown.</p>}
      {starts && <Start close={() => setStarts(false)} />}
    </section>
  );
}

const sizeText = (bytes: number): string =>
  bytes < 10_000
    ? `${countText(bytes)} B`
    : bytes < 1e7
      ? `${countText(Math.round(bytes / 1000))} KB`
      : `${countText(Math.round(bytes / 1e6))} MB`;

/** Whether the files are in an object store or on a Hub, and not on the disk of the server. */
const isElsewhere = (folder: string): boolean => /^(?:s3|hf):\/\//.test(folder);

/** How much of an export is in its store, or on its Hub. */
const Sending = ({ of }: { readonly of: NonNullable<ExportView['progress']['sending']> }): JSX.Element => (
  <>
    <span>
      {countText(of.files)} of {countText(of.ofFiles)} files are sent
    </span>
    <progress max={Math.max(1, of.ofSizeBytes)} value={of.sizeBytes} aria-label="Bytes that are sent" />
  </>
);

function Export({ of }: { readonly of: ExportView }): JSX.Element {
  const { id, status, request, progress, files, error, folder, actor, createdAt, erasedSince } = of;
  const { busy, trouble, work } = useWork();
  const isAtWork = status === 'queued' || status === 'running';
  const base = `/api/v1/trajectories/exports/${encodeURIComponent(id)}/file`;
  const skipped = Object.entries(progress.skipped);
  const cancel = (): void =>
    work(async () => {
      await ask(`trajectories/exports/${encodeURIComponent(id)}/cancel`, { method: 'POST', body: {} });
      readAgain('trajectories');
    });
  return (
    <li class="card">
      <p class="row wrap">
        <span class={`status tone-${TONES[status]}`}>{status}</span>
        <strong>{request.format}</strong> <Id id={id} />
        <span class="fill" />
        <span class="faint">
          <Text text={actor} />, <Time at={createdAt} />
        </span>
        {isAtWork && (
          <button type="button" disabled={busy || !may('cancelExport')} onClick={cancel}>
            Cancel
          </button>
        )}
      </p>
      <p class="row wrap">
        <span>
          {countText(progress.done)} of {progress.runs === null ? '?' : countText(progress.runs)} runs,{' '}
          {countText(progress.rows)} rows
        </span>
        {isAtWork && progress.runs !== null && progress.sending === null && (
          <progress max={Math.max(1, progress.runs)} value={progress.done} aria-label="Runs that are done" />
        )}
        {progress.sending !== null && <Sending of={progress.sending} />}
        {skipped.map(([why, count]) => (
          <span key={why} class="faint">
            {why.replaceAll('_', ' ')} {countText(count)}
          </span>
        ))}
      </p>
      <p class="faint exact">
        <Text text={folder} />
      </p>
      {error !== null && (
        <p class="outcome-bad">
          <code>{error.code}</code> <Text text={error.message} kind="prose" /> <Text text={error.hint} kind="prose" />
        </p>
      )}
      {erasedSince > 0 && <p class="note">{countText(erasedSince)} of its runs were erased since.</p>}
      {trouble !== null && <Trouble error={trouble} />}
      {files.length > 0 && (
        <ul aria-label={`Files of ${id}`}>
          {files.map(({ path, rows, sizeBytes, split, sha256 }) => (
            <li key={path} class="row wrap">
              {isElsewhere(folder) ? (
                <span title={sha256}>
                  <Text text={path} />
                </span>
              ) : (
                <a href={`${base}?${new URLSearchParams({ path })}`} download={path.split('/').at(-1)} title={sha256}>
                  <Text text={path} />
                </a>
              )}
              <span class="faint">
                {split !== null && `${split}, ${countText(rows)} rows, `}
                {sizeText(sizeBytes)}
              </span>
            </li>
          ))}
        </ul>
      )}
    </li>
  );
}

function Start({ close }: { readonly close: () => void }): JSX.Element {
  const submit = async (form: FormData): Promise<void> => {
    const textOf = (name: string): string => String(form.get(name) ?? '').trim();
    const agent = textOf('agent');
    const filters = { status: form.getAll('status'), ...(agent === '' ? {} : { agent }) };
    const body = { format: textOf('format'), filters, to: { folder: textOf('folder') } };
    await ask('trajectories/export', { method: 'POST', body });
    readAgain('trajectories');
  };
  return (
    <FormDialog title="Start an export" verb="Start" submit={submit} close={close}>
      <label for="export-format">Format</label>
      <select id="export-format" name="format">
        {FORMATS.map((format) => (
          <option key={format}>{format}</option>
        ))}
      </select>
      <label for="export-folder">New folder in the export directory of the server</label>
      <input id="export-folder" name="folder" required pattern="[A-Za-z0-9][A-Za-z0-9_.\-\/]*" autofocus />
      <label for="export-agent">Agent (empty: all)</label>
      <input id="export-agent" name="agent" />
      <fieldset class="row wrap">
        <legend>Runs that are</legend>
        {['completed', 'failed', 'cancelled'].map((status, at) => (
          <label key={status} class="choice">
            <input type="checkbox" name="status" value={status} defaultChecked={at === 0} /> {status}
          </label>
        ))}
      </fieldset>
    </FormDialog>
  );
}
