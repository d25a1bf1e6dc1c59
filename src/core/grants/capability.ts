import { HoldfastError } from '../errors/errors.js';
import type { CapabilityCheck } from '../log/event.js';
import type { ToolSpec } from '../tools/tool.js';
import { type ParsedCapability, parseRequest } from './capability-text.js';
import { cautioning, covering, type Grant, type GrantLayer, type GrantSet, stricterFirst } from './grants.js';

/** How much of a request that is not even a capability is kept in the log. */
const KEPT_CHARACTERS = 1000;

/** Labels of what a run has read from outside; none: grants count as they are written. */
type Labels = readonly string[];

/**
 * Says whether a set allows one request. Deny beats ask beats allow, nothing is allowed by default, and every layer must agree.
 * Never throws: a request that cannot be read, or a fault of the checker itself, is denied.
 */
export function checkCapability(set: GrantSet, requested: string, labels: Labels = []): CapabilityCheck {
  try {
    const request = parseRequest(requested);
    const [strictest] = set.layers
      .map((layer, depth) => checkLayer(layer, depth, request, labels))
      .sort((a, b) => stricterFirst(a.effect, b.effect));
    return strictest ?? denied(request.text, 'nothing is granted');
  } catch (error) {
    return denied(
      readable(requested),
      error instanceof HoldfastError ? error.message.replace(/\.$/, '') : 'the checker itself failed',
    );
  }
}

function checkLayer(layer: GrantLayer, depth: number, request: ParsedCapability, labels: Labels): CapabilityCheck {
  const { text: capability } = request;
  const found = covering(layer, request);
  const now = (grants: readonly Grant[]) => (labels.length === 0 ? grants : grants.map(afterUntrusted));
  const exact = deciding(now(found));
  const rule = exact === null ? null : stricter(exact, deciding(now(cautioning(layer, request))));
  if (rule === null) {
    return denied(
      capability,
      depth === 0 ? 'no grant covers it' : 'the grants of this run were narrowed and do not cover it',
    );
  }
  const by = rule.afterUntrusted === rule.effect && labels.length > 0 ? ` (after ${labels.join(', ')})` : '';
  return { capability, effect: rule.effect, rule: rule.capability, reason: `${REASONS[rule.effect]}${by}` };
}

/** What only looks alike decides where it is stricter: the rule that is named is otherwise the exact one. */
const stricter = (exact: Grant, alike: Grant | null): Grant =>
  alike !== null && stricterFirst(alike.effect, exact.effect) < 0 ? alike : exact;

/** A grant as it counts after the run has read what came from outside. */
const afterUntrusted = (grant: Grant): Grant => {
  const after = grant.afterUntrusted;
  return after === undefined || stricterFirst(grant.effect, after) <= 0 ? grant : { ...grant, effect: after };
};

const REASONS = {
  allow: 'a grant allows it',
  ask: 'a grant allows it after a person has approved',
  deny: 'a grant denies it',
} as const;

/** Among the grants that match: the strictest, and of those the first in the order of the set. */
function deciding(matching: readonly Grant[]): Grant | null {
  const usable = matching.filter((grant) => grant.use || grant.effect === 'deny');
  return usable.reduce<Grant | null>((best, grant) => (best === null || before(grant, best) ? grant : best), null);
}

function before(a: Grant, b: Grant): boolean {
  const order = stricterFirst(a.effect, b.effect);
  return order === 0 ? a.capability < b.capability : order < 0;
}

const denied = (capability: string, reason: string): CapabilityCheck => ({
  capability,
  effect: 'deny',
  rule: null,
  reason,
});

function readable(requested: unknown): string {
  return typeof requested === 'string' ? requested.slice(0, KEPT_CHARACTERS).toWellFormed() : `(${typeof requested})`;
}

/** Each is checked, logged and shown to who approves the call. */
const NEEDED_MAX = 1_000;

/** What a call of a tool needs, checked against the grants of its run. A tool that cannot say it is denied, or that needs too much. */
export function checksOf(grants: GrantSet, spec: ToolSpec, input: unknown, labels: Labels = []): CapabilityCheck[] {
  try {
    const needed = spec.capabilitiesOf(input);
    if (needed.length > NEEDED_MAX)
      return [
        denied(`tool:call:${spec.name}`, `the call needs ${needed.length} capabilities, more than ${NEEDED_MAX}`),
      ];
    return needed.map((capability) => checkCapability(grants, capability, spec.effect === 'unsafe' ? labels : []));
  } catch (error) {
    const reason = `the tool could not say what it needs: ${error instanceof Error ? error.message : String(error)}`;
    return [denied(`tool:call:${spec.name}`, reason)];
  }
}

const STRICTNESS = { allow: 0, ask: 1, deny: 2 } as const;

export const strictest = (checks: readonly CapabilityCheck[]): 'allow' | 'ask' | 'deny' =>
  checks.reduce<'allow' | 'ask' | 'deny'>(
    (worst, { effect }) => (STRICTNESS[effect] > STRICTNESS[worst] ? effect : worst),
    'allow',
  );
