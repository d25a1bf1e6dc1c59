import type { JSX } from 'preact';
import type { MemoryDocumentView } from '../../core/memory/memory-view.js';
import { Id } from '../shared/id.js';
import { Time } from '../shared/time.js';
import { exactText } from '../text/exact.js';
import { Text } from '../text/text.js';
import { addressOfDocument, Labels } from './words.js';

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
export const Change = ({ of, space, owner }: Place & { readonly of: Made }): JSX.Element => (
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
