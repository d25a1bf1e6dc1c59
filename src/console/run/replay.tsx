import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { ReplayReport } from '../../core/replay/replay.js';
import { setParams } from '../address.js';
import { ask } from '../api/ask.js';
import { may } from '../session.js';
import { FormDialog } from '../shared/modal.js';
import { Trouble } from '../shared/trouble.js';
import { useWork } from '../shared/work.js';
import { Json } from '../text/json.js';
import { Text } from '../text/text.js';
import { countText, usdText } from '../text/words.js';

/** What the agents of today would do otherwise than the log says. Nothing is executed that changes anything. */
export function View({ id }: { readonly id: string }): JSX.Element {
  const [report, setReport] = useState<ReplayReport | null>(null);
  const [live, setLive] = useState(false);
  const { busy, trouble, work } = useWork();
  const replay = async (body: object): Promise<void> =>
    setReport(await ask<ReplayReport>(`runs/${encodeURIComponent(id)}/replay`, { method: 'POST', body }));
  const blocked = may('replayRun') ? null : 'Needs the role operator.';
  return (
    <>
      <p class="row wrap">
        <button
          type="button"
          class="first"
          disabled={busy || blocked !== null}
          title={blocked ?? 'No model is asked, and no tool is called.'}
          onClick={() => work(() => replay({}))}
        >
          {busy ? 'Replaying…' : 'Replay with the agents of today'}
        </button>
        <button type="button" disabled={busy || blocked !== null} onClick={() => setLive(true)}>
          Ask the models again
        </button>
      </p>
      {trouble !== null && <Trouble error={trouble} />}
      {report !== null && <Report report={report} />}
      {live && (
        <FormDialog
          title="Ask the models again?"
          verb="Ask the models"
          submit={async (form) => {
            const usd = String(form.get('usd') ?? '').trim();
            await replay({ liveModel: true, ...(usd === '' ? {} : { maxUsd: usd }) });
          }}
          close={() => setLive(false)}
        >
          <p>The models are asked as in the run, which costs money. Outcomes of tools come from the log.</p>
          <label for="usd">At most, in dollars</label>
          <input id="usd" name="usd" inputMode="decimal" placeholder="no limit" autofocus />
        </FormDialog>
      )}
    </>
  );
}

function Report({ report }: { readonly report: ReplayReport }): JSX.Element {
  const { result, events, upTo, whole, differences, moreDifferences, notCompared, live, reason, executed } = report;
  return (
    <section class="card" role="status">
      <h2 class={result === 'same' ? 'tone-done' : 'tone-failed'}>{headOf(report)}</h2>
      {reason !== null && (
        <p>
          <code>{reason.code}</code> <Text text={reason.message} kind="prose" />{' '}
          <span class="hint">
            <Text text={reason.hint} kind="prose" />
          </span>
        </p>
      )}
      <p class="faint">
        {countText(events)} events were derived again, up to event {upTo}
        {!whole && '; the replay did not come to the end of the log'}
        {executed > 0 && `; ${countText(executed)} calls were executed again`}
        {live !== null && `; the models cost ${usdText(live.now.costUsd, 4)}`}.
      </p>
      {differences.map((one) => (
        <section key={`${one.key}${one.field}`} class="replayed">
          <h3 class="row">
            <span>
              <Text text={one.what} kind="prose" />{' '}
              <code>
                <Text text={one.field} />
              </code>
            </span>
            <span class="fill" />
            {one.seq !== null && (
              <button type="button" class="plain" onClick={() => setParams({ event: String(one.seq) })}>
                event {one.seq}
              </button>
            )}
          </h3>
          <div class="columns">
            <div>
              <p class="faint">The log says</p>
              <Json value={one.expected} />
            </div>
            <div>
              <p class="faint">Today comes</p>
              <Json value={one.actual} />
            </div>
          </div>
        </section>
      ))}
      {moreDifferences > 0 && <p class="note">There are {countText(moreDifferences)} more differences.</p>}
      {notCompared.length > 0 && (
        <p class="note">
          Not compared: <Text text={notCompared.join('; ')} kind="prose" />
        </p>
      )}
    </section>
  );
}

function headOf({ result, differences, moreDifferences }: ReplayReport): string {
  if (result === 'same') return '✓ The agents of today do the same.';
  if (result === 'cannot_replay') return '✕ The run cannot be replayed.';
  const count = differences.length + moreDifferences;
  return `✕ ${countText(count)} ${count === 1 ? 'difference' : 'differences'}. The first is where today parts from the log.`;
}
