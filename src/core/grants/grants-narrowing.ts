import { HoldfastError } from '../errors/errors.js';
import { EVERYTHING } from './capability-text.js';
import { Steps } from './capability-trie.js';
import {
  type Compared,
  covering,
  type Grant,
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
 * Asking for more is an error nevertheless, so that no one believes to hold what was silently cut: throws `grants_widened`, which
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
const NARROWING_STEPS = 10_000_000;

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

interface Delegated {
  readonly grants: GrantSet;
  /** What the child was to hold and its parent may not pass on, in the order of the set: it does not hold it. */
  readonly missing: readonly string[];
}

/**
 * What a child run holds: the layers of its own agent, every layer of its parent with what that may pass on, and what the call
 * asks for. As every layer must allow and the strictest decides, a child can do nothing that its agent may not do or that its
 * parent may not pass on, at any depth.
 *
 * Of a layer of the parent `deny` always stays, and `allow` and `ask` with `delegate`. Without it, `ask` and `afterUntrusted` deny:
 * what the parent itself does only after a person was asked, and may not pass on, no wider grant passes on beside it.
 * Asking for more is no error here; `missing` says what was not given. Throws `capability_invalid`.
 */
export function delegateGrants(parent: GrantSet, agent: GrantSet, requested?: readonly GrantInput[]): Delegated {
  const inherited = parent.layers.map((layer) => layer.grants.flatMap(passedOn));
  const asked = requested === undefined ? [] : [parseRows(requested, BARE).map(({ grant }) => grant)];
  const own = agent.layers.map((layer) => layer.grants);
  const layers = [...own, ...inherited, ...asked];
  const rows = layers.flatMap((grants, layer) =>
    (grants.length > 0 ? grants : NOTHING).map((grant) => ({ ...grant, layer })),
  );
  const grants = grantSet(parseRows(rows, BARE));
  const wanted = asked.at(0) ?? own.flat();
  const held = grants.layers.slice(own.length, own.length + inherited.length);
  const steps = new Steps(NARROWING_STEPS);
  const missing = parseRows(wanted, BARE)
    .filter(({ grant }) => grant.effect !== 'deny')
    .filter((row) => held.some((layer) => !covers(covering(layer, row, steps))))
    .map(({ grant }) => grant.capability);
  return { grants, missing: [...new Set(missing)].sort() };
}

/** What a run asks for, it may pass on as far as its agent may. */
const BARE = { delegate: true, layer: 0, allowEverything: true } as const;

/** A layer that allows nothing, written down so that it survives being stored. */
const NOTHING: readonly Grant[] = [{ capability: EVERYTHING, effect: 'deny', use: true, delegate: true, layer: 0 }];

function passedOn(grant: Grant): Grant[] {
  if (grant.effect === 'deny') return [grant];
  if (grant.delegate) return [{ ...grant, use: true }];
  const restricts = grant.effect === 'ask' || grant.afterUntrusted !== undefined;
  return restricts ? [{ ...grant, effect: 'deny' }] : [];
}

const covers = (matching: readonly Grant[]): boolean =>
  matching.length > 0 && matching.every((grant) => grant.effect !== 'deny');
