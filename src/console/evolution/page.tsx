import type { JSX } from 'preact';
import type { AgentVersion, EvolutionView } from '../../core/evolution/version.js';
import type { Page as PageOf } from '../../core/page.js';
import { param, setParams } from '../address.js';
import { useAnswer } from '../api/query.js';
import { ChangedRows } from '../shared/changed-rows.js';
import { Pager, Table } from '../shared/table.js';
import { Time } from '../shared/time.js';
import { Unanswered } from '../shared/trouble.js';
import { Text } from '../text/text.js';
import { countText } from '../text/words.js';
import { Patch } from './patch.js';
import { passedText, STATUSES, VersionMark } from './words.js';

const LIMIT = 50;

const COLUMNS = {
  Status: 'text',
  Version: 'text',
  Agent: 'text',
  'Share of new runs': 'number',
  'Trial before': 'number',
  'Trial after': 'number',
  'Completed runs': 'number',
  Proposed: 'text',
} as const;

interface Props {
  readonly id: string;
  readonly other?: string;
}

/** Patches of agents, newest first; those of one agent; and one of them. */
export function Page({ id, other }: Props): JSX.Element {
  if (other !== undefined) return <Patch agent={id} id={other} />;
  return id === '' ? <All /> : <OfAgent name={id} />;
}

function All(): JSX.Element {
  const [cursor, status] = [param('cursor'), param('status')];
  const query = { limit: LIMIT, status, cursor };
  const answer = useAnswer<PageOf<AgentVersion>>({ path: 'evolution', query, every: 5000 });
  return (
    <div class="page">
      <h1>Evolution</h1>
      <div class="filters" role="group" aria-label="Status">
        {['', ...Object.keys(STATUSES)].map((one) => (
          <button
            key={one}
            type="button"
            class="chip"
            aria-pressed={one === status}
            onClick={() => setParams({ status: one, cursor: '' })}
          >
            {one === '' ? 'all' : one.replaceAll('_', ' ')}
          </button>
        ))}
      </div>
      {answer.data === undefined ? (
        <Unanswered answer={answer} />
      ) : (
        <>
          <ChangedRows rows={answer.data.unreadable} />
          <Versions items={answer.data.items} isNarrowed={status !== ''} />
          <Pager next={answer.data.nextCursor} />
        </>
      )}
    </div>
  );
}

function OfAgent({ name }: { readonly name: string }): JSX.Element {
  const path = `evolution/${encodeURIComponent(name)}`;
  const answer = useAnswer<EvolutionView>({ path, every: 5000 });
  return (
    <div class="page">
      <h1>
        Evolution of <Text text={name} />
      </h1>
      <p class="row wrap">
        <a href="/evolution">‹ Evolution</a>
        <a href={`/agents/${encodeURIComponent(name)}`}>The agent</a>
      </p>
      {answer.data === undefined ? (
        <Unanswered answer={answer} />
      ) : (
        <>
          <ChangedRows rows={answer.data.unreadable} />
          <Versions items={answer.data.versions} isNarrowed={false} />
        </>
      )}
    </div>
  );
}

function Versions({
  items,
  isNarrowed,
}: {
  readonly items: readonly AgentVersion[];
  readonly isNarrowed: boolean;
}): JSX.Element {
  if (items.length === 0)
    return (
      <section class="empty">
        <h2>{isNarrowed ? 'No patch fits the filter' : 'No patch yet'}</h2>
        <p>
          <code>holdfast evolve propose &lt;agent&gt; &lt;file&gt;</code>
        </p>
      </section>
    );
  return (
    <Table name="Patches" columns={COLUMNS}>
      {items.map((one) => (
        <tr key={one.id}>
          <td>
            <VersionMark status={one.status} />
          </td>
          <td>
            <a href={`/evolution/${encodeURIComponent(one.agent)}/${one.id}`} class="exact">
              <Text text={one.version} />
            </a>
          </td>
          <td>
            <a href={`/evolution/${encodeURIComponent(one.agent)}`}>
              <Text text={one.agent} />
            </a>
          </td>
          <td class="number">{one.share} %</td>
          <td class="number">{one.report === null ? '–' : passedText(one.report.before)}</td>
          <td class="number">{one.report === null ? '–' : passedText(one.report.after)}</td>
          <td class="number">
            {countText(one.completed)} of {countText(one.ended)}
          </td>
          <td>
            <Time at={one.createdAt} />
          </td>
        </tr>
      ))}
    </Table>
  );
}
