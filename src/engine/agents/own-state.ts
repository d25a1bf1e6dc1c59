import type { z } from 'zod';
import { surroundingSegment } from '../../../workflows/segment-context.js';
import { HoldfastError } from '../../core/errors/errors.js';
import type { JsonObject } from '../../core/json.js';
import { type StateProblem, stateValue } from '../../core/tools/agent-state.js';
import { problemBy, problemOf } from '../../tools/define/schema-parse.js';

/** What an agent declares of the state of its runs. */
export interface DeclaredState {
  readonly initial: JsonObject;
  readonly problemOf: StateProblem;
}

/** Throws `agent_invalid` for a schema that does not say what a run begins with. */
export function declaredState(agent: string, schema: z.ZodType | undefined): DeclaredState | null {
  if (schema === undefined) return null;
  const refuse = (why: string): never => {
    const detail = `a run begins with the state that the schema makes of {}: ${why}`;
    throw new HoldfastError('agent_invalid', `The agent ${agent} is not valid: state: ${detail}`, {
      fields: [{ pointer: '/state', detail }],
    });
  };
  const parsed = schema.safeParse({});
  if (!parsed.success) return refuse(`${problemOf(parsed.error)} Give each member a default, or make it optional.`);
  try {
    return { initial: stateValue(parsed.data), problemOf: problemBy(schema) };
  } catch (error) {
    return refuse(error instanceof Error ? error.message : String(error));
  }
}

/**
 * Returns the state of the run that calls this: for instructions, guardrails and other callbacks, which read it and do not change it.
 * Throws `state_missing` outside of such a run, and `state_invalid` for a state that does not fit.
 */
export function runState<S>(schema: z.ZodType<S>): S {
  const present = surroundingSegment()?.own.present ?? null;
  if (present === null)
    throw new HoldfastError('state_missing', 'runState() was called outside of a run whose agent declares a state.');
  const parsed = schema.safeParse(structuredClone(present.value));
  if (parsed.success) return parsed.data;
  throw new HoldfastError('state_invalid', `The state does not fit its schema: ${problemOf(parsed.error)}`);
}
