import { type FieldError, HoldfastError } from '../../core/errors/errors.js';
import { answerProblems } from '../../core/interruptions/answer.js';
import type { JsonValue } from '../../core/json.js';
import type { InterruptionRow } from '../../storage/interruptions/interruption-rows.js';
import { waitOf } from '../../storage/interruptions/interruptions.js';
import { toolSpecNamed } from '../agents/tool-named.js';
import type { EngineContext } from '../engine-context.js';
import { allowanceOfRequest } from '../request.js';

/**
 * Holds an answer against what it must be: the choices or the schema of its question, and, where it stands for the output
 * of the tool, the shape of that. Throws `invalid_request` with a pointer to every wrong field.
 */
export function assertFits(context: EngineContext, runAgent: string, row: InterruptionRow, value: JsonValue): void {
  const tool = row.tool ?? '';
  const spec = toolSpecNamed(context, { runAgent, agent: row.agent, tool });
  const wait = waitOf(row)?.spec;
  if (wait?.kind === 'question') {
    refuse(answerProblems(wait, value, allowanceOfRequest()), (problem) => problem);
    if (spec === undefined || spec.resume !== null) return;
  }
  const parsed = spec?.parseOutput(value);
  if (parsed === undefined || parsed.ok) return;
  refuse([{ pointer: '', detail: parsed.problem }], (problem) => `${tool} does not return this: ${problem}`);
}

function refuse(problems: readonly FieldError[], say: (problem: string) => string): void {
  const [first] = problems;
  if (first === undefined) return;
  const fields = problems.map(({ pointer, detail }) => ({ pointer: `/value${pointer}`, detail }));
  throw new HoldfastError('invalid_request', `/value${first.pointer}: ${say(first.detail)}`, { fields });
}
