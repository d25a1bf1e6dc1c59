import type { AgentInputItem, ModelRequest } from '@openai/agents';
import { HoldfastError } from '../../src/core/errors/errors.js';
import type { JsonObject } from '../../src/core/json.js';
import { said } from '../../src/core/trajectories/trajectory-step.js';
import type { SegmentContext } from '../segment-context.js';

/** An answer with more calls is not carried out. It costs minutes: each call is judged, logged and kept by itself. */
const MOST_CALLS = 500;
/** The reason that stands in the log in place of that of the provider. */
const TOO_MANY = 'too_many_calls';

/** The reason that an answer ended with, as the log has it. */
export const reasonOf = (finishReason: string | undefined, output: readonly JsonObject[]): string | undefined =>
  output.filter(({ type }) => type === 'function_call').length > MOST_CALLS ? TOO_MANY : finishReason;

/** So often in a row a model may answer again; each time is a turn that is paid for. */
const MOST_IN_A_ROW = 3;

interface Cut {
  /** What came of the answer; empty: nothing. */
  readonly text: string;
  readonly times: number;
}

/** The last answer of an agent loop, if it was cut. */
const cuts = new WeakMap<object, Cut>();

const loopOf = (scope: SegmentContext): object => scope.state ?? scope;

const AGAIN =
  'Your last answer was cut at the limit of its length and was not delivered; calls in it were not made. ' +
  'Answer again so that the whole answer fits: say less, or do the work in smaller steps.';

/** The request, with the answer before it that was cut, and what is to be done about it. */
export function afterCut(scope: SegmentContext, request: ModelRequest): ModelRequest {
  const cut = cuts.get(loopOf(scope));
  if (cut === undefined) return request;
  const before: AgentInputItem[] =
    typeof request.input === 'string' ? [{ role: 'user', content: request.input }] : request.input;
  const content = [{ type: 'output_text' as const, text: cut.text }];
  const part: AgentInputItem[] =
    cut.text === '' ? [] : [{ type: 'message', role: 'assistant', status: 'incomplete', content }];
  return { ...request, input: [...before, ...part, { role: 'user', content: AGAIN }] };
}

/**
 * Decides what becomes of an answer by the reason that it ended with. Returns the items that the SDK gets: none of an answer that the
 * model is to give again. An error ends the run.
 */
export function outputOrError(
  scope: SegmentContext,
  turn: number,
  finishReason: string | undefined,
  output: readonly JsonObject[],
): readonly JsonObject[] | HoldfastError {
  const loop = loopOf(scope);
  const times = (cuts.get(loop)?.times ?? 0) + 1;
  cuts.delete(loop);
  if (finishReason === 'content_filter') {
    return new HoldfastError(
      'answer_filtered',
      `The content filter of the provider withheld the answer of turn ${turn}.`,
    );
  }
  if (finishReason === TOO_MANY) {
    const calls = output.filter(({ type }) => type === 'function_call').length;
    return new HoldfastError(
      TOO_MANY,
      `The answer of turn ${turn} makes ${calls} calls; an answer may make ${MOST_CALLS}. None of them was made.`,
    );
  }
  if (finishReason !== 'length') return output;
  const message = `The answer of turn ${turn} was cut at its limit of tokens`;
  if (scope.run.onTruncated === 'fail') return new HoldfastError('answer_truncated', `${message}.`);
  if (times > MOST_IN_A_ROW) {
    return new HoldfastError(
      'answer_truncated',
      `${message}, as the ${MOST_IN_A_ROW} before it (onTruncated: continue).`,
    );
  }
  cuts.set(loop, { text: said(output, 'message') ?? '', times });
  return [];
}
