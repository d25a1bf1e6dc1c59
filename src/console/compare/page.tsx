import type { ComponentChildren, JSX } from 'preact';
import type { RunDiff } from '../../core/replay/run-diff.js';
import { useAnswer } from '../api/query.js';
import { Difference } from '../shared/difference.js';
import { Id } from '../shared/id.js';
import { RunMark } from '../shared/status.js';
import { Table } from '../shared/table.js';
import { Unanswered } from '../shared/trouble.js';
import { Json } from '../text/json.js';
import { Text } from '../text/text.js';
import { countText, usdText } from '../text/words.js';

type Place = NonNullable<RunDiff['firstDifference']>['a'];

const Side = ({ name, children }: { readonly name: string; readonly children: ComponentChildren }): JSX.Element => (
  <section class="card" aria-label={name}>
    {children}
  </section>
);

function Parted({ id, place }: { readonly id: string; readonly place: Place }): JSX.Element {
  return (
    <Side name={`Run ${id}`}>
      <h2>
        <Id id={id} href={`/runs/${id}`} />
      </h2>
      {place === null ? (
        <p class="note">Its log ends here.</p>
      ) : (
        <>
          <p>
            <a href={`/runs/${id}?view=log&event=${place.seq}`}>
              Event {place.seq} <Text text={place.kind} />
            </a>
          </p>
          <Json value={place.data} />
        </>
      )}
    </Side>
  );
}

const COLUMNS = {
  Run: 'text',
  Status: 'text',
  Events: 'number',
  Turns: 'number',
  Calls: 'number',
  Tokens: 'number',
  Cost: 'number',
} as const;

/** Where two runs part, and what each did from there. */
export function Page({ id, other = '' }: { readonly id: string; readonly other?: string }): JSX.Element {
  const path = `runs/${encodeURIComponent(id)}/diff/${encodeURIComponent(other)}`;
  const answer = useAnswer<RunDiff>({ path, every: 10_000 });
  return (
    <div class="page">
      <h1>Compare two runs</h1>
      <p class="row wrap">
        <Id id={id} href={`/runs/${id}`} /> <span class="faint">with</span> <Id id={other} href={`/runs/${other}`} />
        <a href={`/runs/${other}/compare/${id}`}>the other way round</a>
      </p>
      {answer.data === undefined ? <Unanswered answer={answer} /> : <Compared diff={answer.data} />}
    </div>
  );
}

function Compared({ diff }: { readonly diff: RunDiff }): JSX.Element {
  const { a, b, same, start, common, firstDifference, rest } = diff;
  return (
    <>
      {start.length > 0 && (
        <section class="card">
          <h2>They were started with other terms</h2>
          <Difference of={start} />
        </section>
      )}
      <p role="status">
        {same
          ? `All ${countText(common)} events say the same.`
          : `The first ${countText(common)} events say the same. Then the runs part.`}
      </p>
      {firstDifference !== null && (
        <>
          <div class="columns">
            <Parted id={a} place={firstDifference.a} />
            <Parted id={b} place={firstDifference.b} />
          </div>
          {firstDifference.difference.length > 0 && (
            <section class="card">
              <h2>How the second event differs</h2>
              <Difference of={firstDifference.difference} />
            </section>
          )}
        </>
      )}
      <h2>From there on</h2>
      <Table name="From there on" columns={COLUMNS}>
        {(
          [
            [a, rest.a],
            [b, rest.b],
          ] as const
        ).map(([run, did]) => (
          <tr key={run}>
            <td>
              <Id id={run} href={`/runs/${run}`} />
            </td>
            <td>
              <RunMark status={did.status} />
            </td>
            <td class="number">{countText(did.events)}</td>
            <td class="number">{countText(did.turns)}</td>
            <td class="number">{countText(did.calls)}</td>
            <td class="number">{countText(did.usage.totalTokens)}</td>
            <td class="number">{usdText(did.costUsd, 4)}</td>
          </tr>
        ))}
      </Table>
    </>
  );
}
