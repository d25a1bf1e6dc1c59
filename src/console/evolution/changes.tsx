import type { JSX } from 'preact';
import type { AgentDefinition, AgentDetail } from '../../core/agents/agent-view.js';
import { patchedCopy } from '../../core/evolution/json-patch.js';
import type { AgentVersion } from '../../core/evolution/version.js';
import type { JsonObject } from '../../core/json.js';
import { useAnswer } from '../api/query.js';
import { exactText } from '../text/exact.js';
import { Json } from '../text/json.js';
import { folded, type Line, lineDifference } from '../text/lines.js';
import { Text } from '../text/text.js';
import { countText } from '../text/words.js';

interface Change {
  readonly member: string;
  readonly from: string;
  readonly to: string;
}

const textOf = (value: unknown): string =>
  typeof value === 'string' ? value : value === undefined ? '' : exactText(value, 2);

/** The members of a definition that a patch changes. Null: it cannot be applied to this one. */
function changesOf(base: JsonObject, patch: AgentVersion['patch']): readonly Change[] | null {
  const before: JsonObject = JSON.parse(exactText(base));
  const after = patchedCopy(before, patch);
  if (after === null) return null;
  return [...new Set([...Object.keys(before), ...Object.keys(after)])]
    .map((member) => ({ member, from: textOf(before[member]), to: textOf(after[member]) }))
    .filter(({ from, to }) => from !== to);
}

interface Props {
  readonly version: AgentVersion;
  /** Whether it starts from the definition of the configuration. */
  readonly isOfToday: boolean;
}

/** What a patch changes: each member of the definition as it was and as it becomes. */
export function Changes({ version: { agent, baseHash, patch }, isOfToday }: Props): JSX.Element {
  const path = `agents/${encodeURIComponent(agent)}`;
  const today = useAnswer<AgentDetail>({ path, enabled: isOfToday });
  const older = useAnswer<AgentDefinition>({ path: `${path}/definitions/${baseHash}`, enabled: !isOfToday });
  const base = (isOfToday ? today : older).data?.definition;
  const changes = base === undefined ? null : changesOf(base, patch);
  return (
    <section class="card" aria-labelledby="changes">
      <h2 id="changes">Changes</h2>
      {!isOfToday && <p class="note">It starts from another definition than the one that the configuration has now.</p>}
      {changes?.map(({ member, from, to }) => (
        <div key={member}>
          <h3 class="exact">
            <Text text={member} />
          </h3>
          <LineDifference from={from} to={to} />
        </div>
      ))}
      {base === undefined && !isOfToday && older.error !== null && (
        <p class="note">The definition that it starts from is not kept. The patch itself is shown.</p>
      )}
      <details open={changes === null}>
        <summary>JSON Patch</summary>
        <Json value={patch} whole />
      </details>
    </section>
  );
}

const MARKS = { same: ['', ' '], gone: ['removed', '−'], new: ['added', '+'] } as const;

/** How a text was changed, line by line. Marks say what colours say. */
const LineDifference = ({ from, to }: { readonly from: string; readonly to: string }): JSX.Element => (
  <ul class="line-difference exact">
    {folded(lineDifference(from, to)).map((one, at) =>
      typeof one === 'number' ? (
        <li key={at} class="faint left-out">
          {countText(one)} unchanged {one === 1 ? 'line' : 'lines'}
        </li>
      ) : (
        <Changed key={at} line={one} />
      ),
    )}
  </ul>
);

function Changed({ line: { kind, text } }: { readonly line: Line }): JSX.Element {
  const [word, mark] = MARKS[kind];
  return (
    <li class={`line-${kind}`}>
      <span aria-hidden="true" class="mark">
        {mark}
      </span>
      {word !== '' && <span class="unseen">{word}: </span>}
      <Text text={text} />
    </li>
  );
}
