import type { JSX } from 'preact';
import type { AgentDefinition, AgentDetail } from '../../core/agents/agent-view.js';
import { param, setParams } from '../address.js';
import { useAnswer } from '../api/query.js';
import { ChangedRows } from '../shared/changed-rows.js';
import { EffectWord } from '../shared/effect.js';
import { Table } from '../shared/table.js';
import { Time } from '../shared/time.js';
import { Unanswered } from '../shared/trouble.js';
import { Json } from '../text/json.js';
import { Block, Text } from '../text/text.js';

interface Tool {
  readonly name: string;
  readonly effect: 'pure' | 'idempotent' | 'unsafe' | null;
  readonly description: string;
  readonly version: string;
  readonly approvals: string;
}

const textIn = (value: unknown): string => (typeof value === 'string' ? value : '');
const isEffect = (value: unknown): value is 'pure' | 'idempotent' | 'unsafe' =>
  value === 'pure' || value === 'idempotent' || value === 'unsafe';

/** The tools that a definition names. What a hosted tool does is not known. */
function toolsIn(definition: AgentDetail['definition']): readonly Tool[] {
  const { tools } = definition;
  if (!Array.isArray(tools)) return [];
  return tools.flatMap((tool: unknown) => {
    if (typeof tool !== 'object' || tool === null) return [];
    const of: { readonly [name: string]: unknown } = { ...tool };
    const effect = isEffect(of['effect']) ? of['effect'] : null;
    const approvals = typeof of['approvals'] === 'number' ? String(of['approvals']) : '1';
    const [name, description, version] = [of['name'], of['description'], of['version']].map(textIn);
    return [{ name: name ?? '', description: description ?? '', version: version ?? '', effect, approvals }];
  });
}

const COLUMNS = {
  Tool: 'text',
  Version: 'text',
  Effect: 'text',
  'Approvals, where it asks': 'number',
  Description: 'text',
} as const;

/** One agent: what it says and may do, and the definitions that runs have had. */
export function Detail({ name }: { readonly name: string }): JSX.Element {
  const path = `agents/${encodeURIComponent(name)}`;
  const answer = useAnswer<AgentDetail>({ path, every: 10_000 });
  const hash = param('definition');
  const older = useAnswer<AgentDefinition>({ path: `${path}/definitions/${hash}`, enabled: hash !== '' });
  if (answer.data === undefined) return <Unanswered answer={answer} />;
  const { definition, definitions, definitionHash } = answer.data;
  return (
    <>
      <section class="card">
        <h2>Instructions</h2>
        <Block text={textIn(definition['instructions'])} kind="prose" />
      </section>
      <Table name="Tools" columns={COLUMNS}>
        {toolsIn(definition).map((tool) => (
          <tr key={tool.name}>
            <td class="exact">
              <Text text={tool.name} />
            </td>
            <td>
              <Text text={tool.version} />
            </td>
            <td>{tool.effect === null ? '' : <EffectWord of={tool.effect} />}</td>
            <td class="number">{tool.approvals}</td>
            <td class="wide">
              <span class="line">
                <Text text={tool.description} kind="prose" />
              </span>
            </td>
          </tr>
        ))}
      </Table>
      <section class="card">
        <h2>Definitions</h2>
        {definitions.length === 0 && <p class="note">No run has been started yet.</p>}
        <ul>
          {definitions.map((one) => (
            <li key={one.hash} class="row wrap">
              <button
                type="button"
                class="plain exact"
                aria-pressed={one.hash === hash}
                onClick={() => setParams({ definition: one.hash === hash ? '' : one.hash })}
              >
                <Text text={one.hash.slice(0, 19)} />
              </button>
              <span class="faint">
                version <Text text={one.version} />, since <Time at={one.firstSeenAt} />
                {one.hash === definitionHash && ', the one of today'}
              </span>
            </li>
          ))}
        </ul>
        <ChangedRows rows={answer.data.unreadable} />
        {hash !== '' &&
          (older.data === undefined ? <Unanswered answer={older} /> : <Json value={older.data.definition} />)}
      </section>
    </>
  );
}
