import type { CapabilityCheck } from '../log/event.js';
import type { ToolSpec } from '../tools/tool.js';
import { checkCapability } from './capability.js';
import type { GrantSet } from './grants.js';

/** What a call of a tool needs, checked against the grants of its run. A tool that cannot say it is denied. */
export function checksOf(grants: GrantSet, spec: ToolSpec, input: unknown): CapabilityCheck[] {
  try {
    return spec.capabilitiesOf(input).map((capability) => checkCapability(grants, capability));
  } catch (error) {
    const reason = `the tool could not say what it needs: ${error instanceof Error ? error.message : String(error)}`;
    return [{ capability: `tool:call:${spec.name}`, effect: 'deny', rule: null, reason }];
  }
}

const STRICTNESS = { allow: 0, ask: 1, deny: 2 } as const;

export const strictest = (checks: readonly CapabilityCheck[]): 'allow' | 'ask' | 'deny' =>
  checks.reduce<'allow' | 'ask' | 'deny'>(
    (worst, { effect }) => (STRICTNESS[effect] > STRICTNESS[worst] ? effect : worst),
    'allow',
  );
