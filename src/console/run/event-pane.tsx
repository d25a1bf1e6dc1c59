import type { JSX } from 'preact';
import type { RunEvent } from '../../core/log/event.js';
import { Copy } from '../shared/copy.js';
import { ClockTime } from '../shared/time.js';
import { Json } from '../text/json.js';
import { Text } from '../text/text.js';

/** One event, whole. */
export function EventPane({ event, close }: { readonly event: RunEvent; readonly close: () => void }): JSX.Element {
  return (
    <aside class="event-pane" aria-label={`Event ${event.seq}`}>
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
