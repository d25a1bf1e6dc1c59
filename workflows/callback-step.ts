import { ModelBehaviorError, UserError } from '@openai/agents';
import { HoldfastError, isErrorCode } from '../src/core/errors/errors.js';
import { type JsonValue, toJson } from '../src/core/json.js';
import { catchingLate } from '../steps/calls/late-throws.js';
import { durableStep } from './durable-step.js';
import type { RecordedSource } from './replay/recorded-source.js';
import { inStep, type SegmentContext } from './segment-context.js';

type Answer =
  | { readonly type: 'answered'; readonly value: JsonValue }
  | { readonly type: 'threw'; readonly name: string; readonly message: string; readonly code?: string };

/**
 * Runs a callback of the user as one step, so that a replay hears the same answer. What it answers is kept as JSON; what it
 * throws is thrown again, by class where the SDK looks at the class, else as a plain error with its message.
 * `recorded` reads from a recording what was answered; undefined: it does not say, and the callback is asked again.
 */
export async function callbackStep(
  scope: SegmentContext,
  name: string,
  callback: () => unknown,
  recorded: (source: RecordedSource) => JsonValue | undefined,
): Promise<JsonValue> {
  const known = scope.recorded === null ? undefined : recorded(scope.recorded);
  if (known !== undefined) return known;
  const code = { what: `the callback ${name}`, runId: scope.run.id, tool: null, callId: null };
  const answer = async (): Promise<Answer> => {
    try {
      return { type: 'answered', value: toJson(await catchingLate(code, callback)) };
    } catch (error) {
      const { name: kind, message } = error instanceof Error ? error : new Error(String(error));
      const code = error instanceof HoldfastError ? { code: error.code } : {};
      return { type: 'threw', name: kind, message: message.slice(0, 4096).toWellFormed(), ...code };
    }
  };
  // A closed recording takes no steps.
  const again = scope.recorded?.closed === true && scope.recorded.hears(name);
  const heard = again ? await inStep(answer) : await durableStep(scope, name, answer);
  if (heard.type === 'threw') throw errorOf(heard);
  return heard.value;
}

function errorOf({ name, message, code }: Extract<Answer, { type: 'threw' }>): Error {
  if (code !== undefined && isErrorCode(code)) return new HoldfastError(code, message);
  if (name === 'ModelBehaviorError') return new ModelBehaviorError(message);
  if (name === 'UserError') return new UserError(message);
  return Object.assign(new Error(message), { name });
}
