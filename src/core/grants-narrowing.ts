import { EVERYTHING } from './capability-text.js';
import type { Token } from './capability-trie.js';
import { HoldfastError } from './errors.js';
import { type GrantInput, type GrantLayer, type GrantSet, grantSet, parseRows } from './grants.js';

/**
 * The set of a run that asked for less than its agent holds: the agent's layers, and what was asked for as one layer more. As
 * every layer must allow and the strictest decides, the result cannot be wider than the agent, whatever is asked for.
 *
 * Asking for more is an error nevertheless, so that nobody believes to hold what was silently cut: throws `grants_widened`, which
 * names the first grant that no single grant of the agent covers, or that the agent denies. `deny` is always fine.
 * Throws `capability_invalid` too.
 */
export function narrowGrants(agent: GrantSet, requested: readonly GrantInput[]): GrantSet {
  const layer = agent.layers.length;
  const asked = parseRows(requested, { delegate: true, layer, allowEverything: true }).map(({ grant, tokens }) => ({
    grant: { ...grant, layer },
    tokens,
  }));
  for (const [index, { grant, tokens }] of asked.entries()) {
    if (grant.effect === 'deny') continue;
    const problem = agent.layers.map((held) => missing(held, tokens, requested[index])).find((text) => text !== null);
    if (problem === undefined || problem === null) continue;
    throw new HoldfastError('grants_widened', `The grant ${grant.capability} asks for more: ${problem}`, {
      fields: [{ pointer: `/grants/${index}`, detail: problem }],
    });
  }
  return grantSet([...held(agent), ...(asked.length > 0 ? asked : nothing(layer))]);
}

/** A layer that allows nothing, written down so that it survives being stored. */
const nothing = (layer: number) =>
  parseRows([{ capability: EVERYTHING, effect: 'deny' }], { delegate: true, layer, allowEverything: true });

const held = (set: GrantSet) => parseRows(set.grants, { delegate: false, layer: 0, allowEverything: true });

function missing(layer: GrantLayer, tokens: readonly Token[], input: GrantInput | undefined): string | null {
  const covering = layer.patterns.find(tokens);
  const denying = covering.find((grant) => grant.effect === 'deny');
  if (denying !== undefined) return `the agent denies ${denying.capability}.`;
  const needs: { readonly use?: boolean | undefined; readonly delegate?: boolean | undefined } =
    typeof input === 'object' ? input : {};
  const allowing = covering.filter(
    (grant) => (needs.use !== true || grant.use) && (needs.delegate !== true || grant.delegate),
  );
  return allowing.length > 0 ? null : 'no single grant of the agent covers it.';
}
