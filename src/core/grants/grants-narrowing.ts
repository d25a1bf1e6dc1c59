import { HoldfastError } from '../errors/errors.js';
import { EVERYTHING } from './capability-text.js';
import { Steps } from './capability-trie.js';
import {
  type Compared,
  covering,
  type GrantInput,
  type GrantLayer,
  type GrantSet,
  grantSet,
  parseRows,
} from './grants.js';

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
  const steps = new Steps(NARROWING_STEPS);
  const asked = parseRows(requested, { delegate: true, layer, allowEverything: true }).map((row) => ({
    ...row,
    grant: { ...row.grant, layer },
  }));
  for (const [index, row] of asked.entries()) {
    const { grant } = row;
    if (grant.effect === 'deny') continue;
    const problem = agent.layers
      .map((held) => missing(held, row, requested[index], steps))
      .find((text) => text !== null);
    if (problem === undefined || problem === null) continue;
    throw new HoldfastError('grants_widened', `The grant ${grant.capability} asks for more: ${problem}`, {
      fields: [{ pointer: `/grants/${index}`, detail: problem }],
    });
  }
  return grantSet([...held(agent), ...(asked.length > 0 ? asked : nothing(layer))]);
}

/** Of all comparisons of one request together, also of one that asks for what a child may hold. */
export const NARROWING_STEPS = 10_000_000;

/** A layer that allows nothing, written down so that it survives being stored. */
const nothing = (layer: number) =>
  parseRows([{ capability: EVERYTHING, effect: 'deny' }], { delegate: true, layer, allowEverything: true });

const held = (set: GrantSet) => parseRows(set.grants, { delegate: false, layer: 0, allowEverything: true });

function missing(layer: GrantLayer, asked: Compared, input: GrantInput | undefined, steps: Steps): string | null {
  const found = covering(layer, asked, steps);
  const denying = found.find((grant) => grant.effect === 'deny');
  if (denying !== undefined) return `the agent denies ${denying.capability}.`;
  const needs: { readonly use?: boolean | undefined; readonly delegate?: boolean | undefined } =
    typeof input === 'object' ? input : {};
  const allowing = found.filter(
    (grant) => (needs.use !== true || grant.use) && (needs.delegate !== true || grant.delegate),
  );
  return allowing.length > 0 ? null : 'no single grant of the agent covers it.';
}
