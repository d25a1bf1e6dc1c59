import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import type { RunEvent } from '../../core/log/event.js';
import { Copy } from '../shared/copy.js';
import { ClockTime } from '../shared/time.js';
import { Json } from '../text/json.js';
import { Text } from '../text/text.js';

/** One event, whole. */
export function EventPane({ event, close }: { readonly event: RunEvent; readonly close: () => void }): JSX.Element {
  const pane = useRef<HTMLElement>(null);
  // On a narrow screen it stands below what it was chosen from.
  useEffect(() => {
    if (pane.current !== null && pane.current.getBoundingClientRect().top >= innerHeight)
      pane.current.scrollIntoView({ block: 'start' });
  }, [event.seq]);
  return (
    <aside ref={pane} class="event-pane" aria-label={`Event ${event.seq}`}>
      <p class="row">
        <strong>
          {event.seq} <Text text={event.kind} />
        </strong>
        <span class="fill" />
        <Copy text={() => location.href} name="Copy link" />
        <button type="button" class="plain" onClick={close} aria-label="Close">
          ✕
        </button>
      </p>
      <p class="faint">
        <ClockTime at={event.at} />
      </p>
      {event.data === null ? <p class="note">The payload was erased.</p> : <Json value={event.data} />}
      <details>
        <summary>Hashes</summary>
        <dl class="facts">
          {(['hash', 'prevHash', 'dataHash', 'stateHashBefore', 'stateHashAfter'] as const).map((name) => (
            <div key={name} class="contents">
              <dt>{name}</dt>
              <dd class="exact">
                <Text text={event[name]} />
              </dd>
            </div>
          ))}
          <dt>parentId</dt>
          <dd class="exact">
            <Text text={event.parentId ?? 'none'} />
          </dd>
        </dl>
      </details>
    </aside>
  );
}
