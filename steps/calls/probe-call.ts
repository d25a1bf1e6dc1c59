import type { ProbeResult, ToolContext, ToolSpec } from '../../src/core/tools/tool.js';
import { catchingLate } from './late-throws.js';
import { codeOf } from './run-body.js';

/** Asks a tool whether a call of it happened. */
export async function probe(spec: ToolSpec, input: unknown, context: ToolContext): Promise<ProbeResult<unknown>> {
  const { name, probe: ask } = spec;
  if (spec.onUnknownEffect !== 'probe' || ask === null) return { happened: 'unknown' };
  try {
    const code = codeOf(`the probe of ${name}`, name, context);
    return await catchingLate(code, (signal) => ask(input, { ...context, signal }), context.signal);
  } catch {
    // A probe that fails has found out nothing; a person is asked.
    return { happened: 'unknown' };
  }
}
