import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { FoundTexts } from '../../core/log/find.js';
import { param, setParams } from '../address.js';
import { ask } from '../api/ask.js';
import { useKeys } from '../keys.js';
import { Trouble } from '../shared/trouble.js';
import { useWork } from '../shared/work.js';
import { Text } from '../text/text.js';

interface FindProps {
  readonly id: string;
  readonly selected: number | null;
  readonly select: (seq: number) => void;
}

type Hits = Pick<FoundTexts, 'items' | 'nextCursor'>;

/** Finds a text in the payloads of the log: as far as the server reads in one request, and then on. */
export function Find({ id, selected, select }: FindProps): JSX.Element {
  const wanted = param('q');
  const [hits, setHits] = useState<Hits | null>(null);
  const { busy, trouble, work } = useWork();
  const read = (before: Hits): void =>
    work(async () => {
      const query = { q: wanted, limit: 50, cursor: before.nextCursor ?? undefined };
      const { items, nextCursor } = await ask<FoundTexts>(`runs/${encodeURIComponent(id)}/find`, { query });
      setHits({ items: [...before.items, ...items], nextCursor });
    });
  useEffect(() => {
    setHits(null);
    if (wanted !== '') read({ items: [], nextCursor: null });
  }, [id, wanted]);
  useKeys([{ key: '/', says: 'Find in the log', act: () => document.getElementById('find-text')?.focus() }]);
  return (
    <search>
      <form
        class="row"
        onSubmit={(event) => {
          event.preventDefault();
          const value = new FormData(event.currentTarget).get('q');
          setParams({ q: typeof value === 'string' ? value : '' });
        }}
      >
        <input
          key={wanted}
          id="find-text"
          name="q"
          type="search"
          aria-label="Find in the log"
          placeholder="Find"
          defaultValue={wanted}
        />
        <button type="submit" disabled={busy}>
          Find
        </button>
        {hits !== null && (
          <span class="faint" role="status">
            {hits.items.length === 0 ? 'nothing' : `${hits.items.length} places`}
            {hits.nextCursor !== null && ' so far'}
          </span>
        )}
      </form>
      {trouble !== null && <Trouble error={trouble} />}
      {hits !== null && hits.items.length > 0 && (
        <ul class="hits" aria-label="Places">
          {hits.items.map(({ seq, kind, pointer, before, match, after }) => (
            <li key={`${seq}${pointer}`}>
              <button type="button" class="plain" aria-pressed={seq === selected} onClick={() => select(seq)}>
                <span class="faint">{seq}</span> <Text text={kind} />{' '}
                <span class="exact">
                  <Text text={before} />
                  <mark>
                    <Text text={match} />
                  </mark>
                  <Text text={after} />
                </span>
              </button>
            </li>
          ))}
        </ul>
      )}
      {hits !== null && hits.nextCursor !== null && (
        <button type="button" disabled={busy} onClick={() => read(hits)}>
          Find more
        </button>
      )}
    </search>
  );
}
