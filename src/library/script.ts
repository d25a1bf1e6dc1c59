import type { ModelResponse } from '@openai/agents';
import { invalidConfig } from '../core/field-errors.js';
import { isRecord } from '../core/json.js';
import { delayProblems, type FunctionModelOptions, functionModel } from '../models/providers/function-model.js';

type OutputItem = ModelResponse['output'][number];

/** One answer of a scripted model: calls of tools, or a text. */
export type ScriptedAnswer = readonly OutputItem[];

/** A call of a tool, for the answer of a scripted model. `args`: the arguments; a string is sent as it is. */
export const call = (name: string, args: unknown, id = `call_${name}`) => ({
  type: 'function_call' as const,
  callId: id,
  name,
  arguments: typeof args === 'string' ? args : JSON.stringify(args),
  status: 'completed' as const,
});

/** A text, for the answer of a scripted model. */
export const say = (text: string) => ({
  type: 'message' as const,
  role: 'assistant' as const,
  status: 'completed' as const,
  content: [{ type: 'output_text' as const, text }],
});

interface Item {
  readonly type?: string;
  readonly callId?: string;
  readonly output?: unknown;
}

export const textOf = (output: unknown): string => {
  if (typeof output === 'string') return output;
  if (Array.isArray(output)) return output.map(textOf).join('');
  const text = (output as { text?: unknown } | null)?.text;
  return typeof text === 'string' ? text : JSON.stringify(output);
};

/** The results of tool calls in the input of a model, in their order. */
export const resultsIn = (input: unknown): { callId: string; text: string }[] =>
  (Array.isArray(input) ? (input as Item[]) : [])
    .filter((item) => item.type === 'function_call_result')
    .map((item) => ({ callId: item.callId ?? '', text: textOf(item.output) }));

/**
 * A model that gives the answers in their order. It counts the tool results in the conversation to find the next one, so that a run that
 * goes on in another process gets the same answers. After the last answer it repeats the results that it was given.
 */
export const scriptedModel = (answers: readonly ScriptedAnswer[], options: FunctionModelOptions = {}) => {
  assertScript(answers);
  const problems = isRecord(options) ? delayProblems(options) : [{ pointer: '/options', detail: 'expected an object' }];
  if (problems.length > 0) throw invalidConfig('A scripted model', problems);
  return functionModel('scripted', ({ input }) => [...answerAfter(answers, input)], options);
};

/** A program in JavaScript may give anything. Throws `config_invalid`. */
function assertScript(answers: unknown): void {
  if (Array.isArray(answers) && answers.every((answer) => Array.isArray(answer) && answer.every(isRecord))) return;
  throw invalidConfig('A scripted model', [
    { pointer: '', detail: 'expected a list of answers, each a list of call(…) or say(…)' },
  ]);
}

/** The next answer of such a model. */
export function answerAfter<A extends ScriptedAnswer>(
  answers: readonly A[],
  input: unknown,
): A | ReturnType<typeof say>[] {
  const results = resultsIn(input);
  let left = results.length;
  for (const answer of answers) {
    const calls = answer.filter((item) => item.type === 'function_call').length;
    if (left < calls || (calls === 0 && left === 0)) return answer;
    left -= calls;
  }
  // An empty answer would fail the run.
  return [say(results.map(({ callId, text }) => `${callId}=${text}`).join(' | ') || 'Nothing was called.')];
}
