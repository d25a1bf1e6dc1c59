import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { Copy } from '../shared/id.js';
import { exactText, isExact } from './exact.js';
import { Text } from './text.js';

const FOLDED_FROM_DEPTH = 3;
const SHOWN_ITEMS = 100;

interface At {
  readonly value: unknown;
  readonly depth: number;
  /** Nothing is folded and nothing is left out. */
  readonly whole: boolean;
}

const isEmpty = (value: object): boolean => Object.keys(value).length === 0;

function Leaf({ value }: { readonly value: unknown }): JSX.Element {
  if (typeof value === 'string')
    return (
      <span class="json-text">
        <Text text={JSON.stringify(value)} />
      </span>
    );
  if (isExact(value)) return <span class="json-number">{value.text}</span>;
  return <span class={`json-${value === null ? 'null' : typeof value}`}>{exactText(value)}</span>;
}

function Items({ value, depth, whole }: At & { readonly value: object }): JSX.Element {
  const [shown, show] = useState(SHOWN_ITEMS);
  const entries = Object.entries(value);
  const list = Array.isArray(value);
  const some = whole ? entries : entries.slice(0, shown);
  return (
    <ul class="json-items">
      {some.map(([key, item]) => (
        <li key={key}>
          {!list && (
            <>
              <span class="json-key">
                <Text text={key} />
              </span>
              {': '}
            </>
          )}
          <Node value={item} depth={depth + 1} whole={whole} />
        </li>
      ))}
      {some.length < entries.length && (
        <li>
          <button type="button" class="plain" onClick={() => show(shown + SHOWN_ITEMS * 10)}>
            {entries.length - some.length} more
          </button>
        </li>
      )}
    </ul>
  );
}

function Node({ value, depth, whole }: At): JSX.Element {
  if (typeof value !== 'object' || value === null || isExact(value)) return <Leaf value={value} />;
  const [open, close] = Array.isArray(value) ? ['[', ']'] : ['{', '}'];
  if (isEmpty(value)) return <span>{open + close}</span>;
  if (whole) return <Items value={value} depth={depth} whole />;
  const count = Object.keys(value).length;
  return (
    <details open={depth < FOLDED_FROM_DEPTH}>
      <summary>
        {open}
        <span class="json-count">{count}</span>
        {close}
      </summary>
      <Items value={value} depth={depth} whole={whole} />
    </details>
  );
}

/** A JSON value: keys in their order, numbers as they were written, texts with hidden characters shown. */
export function Json({ value, whole = false }: { readonly value: unknown; readonly whole?: boolean }): JSX.Element {
  return (
    <div class="json">
      <Copy text={() => (typeof value === 'string' ? value : exactText(value, 2))} />
      {typeof value === 'string' ? (
        <div class="json-plain">
          <Text text={value} />
        </div>
      ) : (
        <Node value={value} depth={0} whole={whole} />
      )}
    </div>
  );
}
