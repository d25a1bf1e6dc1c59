import { HoldfastError } from '../../core/errors/errors.js';
import type { ForkPlan } from '../../core/replay/fork.js';
import type { ForkEdit } from '../../core/replay/fork-edits.js';
import { toolSpecNamed } from '../agents/tool-named.js';
import type { EngineContext } from '../engine-context.js';

/** An outcome in place of a tool's must have the shape that the tool declares. Throws `fork_invalid`. */
export function assertEditFits(
  context: EngineContext,
  runAgent: string,
  { begun }: ForkPlan,
  edit: ForkEdit,
  pointer: string,
): void {
  if (!('callId' in edit) || edit.outcome.type !== 'output') return;
  const edited = begun.get(edit.callId);
  if (edited === undefined) return;
  const { tool } = edited.call;
  const parsed = toolSpecNamed(context, { runAgent, agent: edited.agent, tool })?.parseOutput(edit.outcome.output);
  if (parsed === undefined || parsed.ok) return;
  throw new HoldfastError('fork_invalid', `${tool} does not return the outcome of the edit: ${parsed.problem}`, {
    fields: [{ pointer: `${pointer}/outcome/output`, detail: parsed.problem }],
  });
}
