import type { JSX } from 'preact';
import type { MemoryEntry, MemorySpaceView } from '../../core/memory/memory-view.js';
import type { Page as PageOf } from '../../core/page.js';
import { param, paramsOf, setParams } from '../address.js';
import { useAnswer } from '../api/query.js';
import { useKeys } from '../keys.js';
import { Pager, Table } from '../shared/table.js';
import { Deadline, Time } from '../shared/time.js';
import { Unanswered } from '../shared/trouble.js';
import { Typed } from '../shared/typed.js';
import { Text } from '../text/text.js';
import { countText } from '../text/words.js';
import { Document } from './document.js';
import { addressOfDocument, Labels, Owner } from './words.js';

const LIMIT = 50;

interface Props {
  readonly id: string;
  readonly other?: string;
}

/** The spaces of memory; the documents of one; and one document. */
export function Page({ id, other }: Props): JSX.Element {
  if (other !== undefined) return <Document space={id} owner={param('owner')} documentKey={param('key')} />;
  return id === '' ? <Spaces /> : <Space name={id} />;
}

const SPACE_COLUMNS = { Space: 'text', Scope: 'text', Documents: 'number', Changed: 'text' } as const;

function Spaces(): JSX.Element {
  const answer = useAnswer<{ readonly items: readonly MemorySpaceView[] }>({ path: 'memory', every: 5000 });
  const items = answer.data?.items ?? [];
  return (
    <div class="page">
      <h1>Memory</h1>
      {answer.data === undefined && <Unanswered answer={answer} />}
      {answer.data !== undefined && items.length === 0 && (
        <section class="empty">
          <h2>No memory yet</h2>
          <p>
            An agent declares the spaces that it keeps documents in, with <code>memorySpace</code>.
          </p>
        </section>
      )}
      {items.length > 0 && (
        <Table name="Spaces" columns={SPACE_COLUMNS}>
          {items.map(({ space, scope, documents, changedAt }) => (
            <tr key={space}>
              <td>
                <a href={`/memory/${encodeURIComponent(space)}`} class="exact">
                  <Text text={space} />
                </a>
              </td>
              <td>{scope}</td>
              <td class="number">{countText(documents)}</td>
              <td>{changedAt === null ? '–' : <Time at={changedAt} />}</td>
            </tr>
          ))}
        </Table>
      )}
    </div>
  );
}

const COLUMNS = {
  Document: 'text',
  Owner: 'text',
  Version: 'number',
  Trust: 'text',
  Changed: 'text',
  'Kept until': 'text',
} as const;

function Space({ name }: { readonly name: string }): JSX.Element {
  const cursor = param('cursor');
  const narrowed = paramsOf(['q', 'owner']);
  const answer = useAnswer<PageOf<MemoryEntry>>({
    path: `memory/${encodeURIComponent(name)}/documents`,
    query: { ...narrowed, limit: LIMIT, cursor },
    every: 5000,
  });
  useKeys([{ key: '/', says: 'Find documents', act: () => document.getElementById('words')?.focus() }]);
  const items = answer.data?.items ?? [];
  return (
    <div class="page">
      <h1>
        Memory <Text text={name} />
      </h1>
      <a href="/memory">‹ Memory</a>
      <div class="filters">
        <Typed
          id="words"
          isSearch
          name="Words that documents have"
          placeholder="Words  /"
          maxLength={512}
          value={param('q')}
          commit={(text) => setParams({ q: text.trim(), cursor: '' })}
        />
        <Typed
          name="Owner"
          placeholder="owner"
          maxLength={200}
          value={param('owner')}
          commit={(owner) => setParams({ owner, cursor: '' })}
        />
      </div>
      {answer.data === undefined && <Unanswered answer={answer} />}
      {answer.data !== undefined && items.length === 0 && (
        <section class="empty">
          <h2>{Object.keys(narrowed).length === 0 ? 'No document yet' : 'No document fits the filter'}</h2>
        </section>
      )}
      {items.length > 0 && (
        <Table name="Documents" columns={COLUMNS}>
          {items.map((one) => (
            <tr key={`${one.owner}/${one.key}`}>
              <td class="wide">
                <a href={addressOfDocument(one)} class="exact line">
                  <Text text={one.key} />
                </a>
              </td>
              <td class="wide">
                <span class="line">
                  <Owner of={one.owner} />
                </span>
              </td>
              <td class="number">{countText(one.version)}</td>
              <td>
                {one.integrity.length === 0 ? (
                  <Labels of={one.labels} />
                ) : (
                  <span class="status tone-failed" title="Its rows do not say what the log says.">
                    changed
                  </span>
                )}
              </td>
              <td>
                <Time at={one.changedAt} />
              </td>
              <td>{one.expiresAt === null ? 'no end' : <Deadline at={one.expiresAt} />}</td>
            </tr>
          ))}
        </Table>
      )}
      <Pager next={answer.data?.nextCursor ?? null} byTime={false} />
    </div>
  );
}
