import { HoldfastError } from '../../src/core/errors/errors.js';
import { checkCapability } from '../../src/core/grants/capability.js';
import { type GrantInput, parseGrants } from '../../src/core/grants/grants.js';
import { seededRandom } from '../../src/core/seeded-random.js';
import { noState } from '../../src/core/tools/agent-state.js';
import type { ToolContext, ToolSpec } from '../../src/core/tools/tool.js';
import { noEnvironment } from '../../src/core/tools/tool-environment.js';
import { noMemory } from '../../src/core/tools/tool-memory.js';

/** The context of one call in a run that holds these grants. `asked` collects what the tool required while it worked. */
export function contextWith(
  grants: readonly GrantInput[],
  options: { readonly signal?: AbortSignal } = {},
): ToolContext & { readonly asked: string[] } {
  const set = parseGrants(grants);
  const asked: string[] = [];
  return {
    runId: 'run-1',
    callId: 'call-1',
    tenant: 'default',
    agent: 'tester',
    idempotencyKey: 'run-1:call-1',
    signal: options.signal ?? new AbortController().signal,
    now: Date.now,
    logicalTime: async () => 1,
    state: noState('A test'),
    memory: noMemory('A test'),
    random: seededRandom('run-1:call-1'),
    require: (capability) => {
      asked.push(capability);
      const check = checkCapability(set, capability);
      if (check.effect === 'allow') return;
      throw new HoldfastError('capability_denied', `${check.capability}: ${check.reason}`);
    },
    environment: noEnvironment('A test'),
    asked,
  };
}

/** Does to a call what the engine does: arguments, capabilities, body, output. */
export async function callTool(spec: ToolSpec, args: unknown, context: ToolContext): Promise<unknown> {
  const parsed = spec.parse(JSON.parse(JSON.stringify(args)));
  if (!parsed.ok) throw new HoldfastError('invalid_request', parsed.problem);
  for (const capability of spec.capabilitiesOf(parsed.input)) context.require(capability);
  const output = spec.parseOutput(await spec.execute(parsed.input, context));
  if (!output.ok) throw new HoldfastError('tool_failed', output.problem);
  return output.output;
}

/** The code and message of the error that a call ends with. */
export async function failureOf(call: Promise<unknown>): Promise<{ readonly code: string; readonly message: string }> {
  try {
    await call;
  } catch (error) {
    if (error instanceof HoldfastError) return { code: error.code, message: error.message };
    throw error;
  }
  throw new Error('The call did not fail.');
}
