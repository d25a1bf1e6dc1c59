import { DBOS } from '@dbos-inc/dbos-sdk';
import type { ModelRequest, ModelResponse } from '@openai/agents';
import { HoldfastError } from '../../src/core/errors/errors.js';
import { digestOf, toJson } from '../../src/core/json.js';
import type { Wait } from '../../src/core/runs/ending.js';
import { addUsage } from '../../src/core/runs/run.js';
import { ProgramModel } from '../../src/models/program-model.js';
import { hasStep } from '../../src/storage/dbos/segment-rows.js';
import type { ModelAnswer, ModelResult } from '../../steps/calls/call-model.js';
import { withDatabaseRetry } from '../../steps/database-retry.js';
import { type SegmentContext, SegmentStop, stopFromHalt, type WrappedTool } from '../segment-context.js';
import { addAnswer } from '../step-ends.js';
import { authorizeCalls, wrapperFinder } from '../tool-calls/authorize-calls.js';
import type { AskedCall } from '../tool-calls/tool-guardrails.js';
import { type AskedModel, askModel, chosenModel, responseOf } from './ask-model.js';
import { withOwnCallIds, withRecordedIds } from './call-ids.js';
import { afterCut, outputOrError, reasonOf } from './cut-answer.js';
import { budgetWait } from './model-budgets.js';
import { assertHostedGranted, offeredNames, termsOf, toolNames } from './request-terms.js';
import { sentRequest, shownRequest, withReadCalls } from './run-scaffold.js';
import { restoreHistory, trimHistory } from './trim-history.js';

/** A turn whose request is in the log. */
interface Turn {
  readonly number: number;
  readonly agent: string;
  /** The name of the model in the log. */
  readonly model: string;
  readonly request: ModelRequest;
  /** The whole conversation before it, whatever of it the model is shown. */
  readonly conversation: ModelRequest['input'];
  /** The key of `model.requested`. */
  readonly requestedKey: string;
  /** What the log has of it; null: the model is asked. */
  readonly recorded: ModelResult | null;
  readonly findWrapper: (call: AskedCall) => WrappedTool | undefined;
}

type Answer = Extract<ModelResult, { type: 'answer' }>;

/** Takes one turn of the agent. Throws `SegmentStop` if the segment must end instead. */
export async function takeTurn(scope: SegmentContext, model: AskedModel, asked: ModelRequest): Promise<ModelResponse> {
  await checkLimits(scope);
  const turn = beginTurn(scope, model, asked);
  const result = await askOrReplay(scope, model, turn);
  compareProgram(scope, model, turn);
  const answer = acceptAnswer(scope, turn, result);
  await authorizeCalls(scope, turn.agent, answer.output, turn.findWrapper);
  if (scope.state !== null && scope.parentCall === null) trimHistory(scope.state);
  return responseOf(answer);
}

/** No model call happens after a limit, after a cancellation, or while a call waits for a decision. */
async function checkLimits(scope: SegmentContext): Promise<void> {
  await breatheInRecorded(scope);
  // Only a worker that drains asks the database, so that nothing is waited for otherwise.
  const drains = mayDrain(scope) && !(await wasAsked(scope, scope.turns + 1));
  if (scope.stop !== null) throw new SegmentStop(scope.stop);
  const { maxTurns, maxTotalTokens } = scope.run.limits;
  if (scope.turns >= maxTurns) {
    throw failWith(
      scope,
      'limit_turns',
      `The run took ${scope.turns} turns and wanted another; its limit is ${maxTurns} (maxTurns).`,
    );
  }
  if (maxTotalTokens !== null && scope.totalTokens >= maxTotalTokens) {
    throw failWith(
      scope,
      'limit_tokens',
      `The run used ${scope.totalTokens} tokens; its limit is ${maxTotalTokens} (maxTotalTokens).`,
    );
  }
  // A cut never separates the segment from its recorded turns.
  if (scope.source.asked(scope.turns + 1)) return;
  if (scope.turnsInSegment >= scope.turnsPerSegment || drains) throw stopWith(scope, { type: 'cut' });
}

/** Lets other work of the process have its turn where everything is recorded, so that nothing is ever waited for. */
async function breatheInRecorded(scope: SegmentContext): Promise<void> {
  try {
    await scope.source.breathe(scope.signal);
  } catch (error) {
    scope.broken ??= { error };
    throw error;
  }
}

/** A cut before the first turn of a segment would only begin the same segment again. */
const mayDrain = (scope: SegmentContext): boolean =>
  scope.source.isOver && scope.turnsInSegment > 0 && scope.isDraining();

/** An earlier execution may have recorded more turns; a cut must not separate the segment from these either. */
const wasAsked = ({ ctx }: SegmentContext, next: number): Promise<boolean> =>
  withDatabaseRetry(() => hasStep(ctx.knex, DBOS.workflowID ?? '', `model:${next}`));

/** Builds the request, counts the turn and logs `model.requested`. */
function beginTurn(scope: SegmentContext, { name }: AskedModel, asked: ModelRequest): Turn {
  const whole = restoreHistory(scope.state, asked);
  const agent = currentAgent(scope);
  const shown = shownRequest(scope, agent, whole);
  const request = afterCut(scope, shown ?? whole);
  const findWrapper = wrapperFinder(request);
  assertHostedGranted(scope, request);
  const number = ++scope.turns;
  scope.turnsInSegment++;
  const known = scope.source.turn(number);
  const present = scope.run.model ?? name;
  const model = known.type === 'recorded' ? known.model : present;
  const requested = scope.source.modelAsked(number, model, present);
  const requestedKey = logRequest(scope, request, { turn: number, agent, model: requested }, shown !== null);
  if (known.type === 'pause') throw waitBefore(scope, null);
  const recorded = known.type === 'recorded' ? known.result : null;
  return { number, agent, model, request, conversation: whole.input, requestedKey, recorded, findWrapper };
}

const currentAgent = (scope: SegmentContext): string => scope.state?.currentAgent.name ?? scope.run.agent;

function logRequest(
  scope: SegmentContext,
  request: ModelRequest,
  who: { turn: number; agent: string; model: string },
  isChosen: boolean,
): string {
  const items = typeof request.input === 'string' ? [request.input] : request.input;
  // Only items that are new to the model are digested, so that a turn costs the same in a long run as in a short one.
  // A scaffold may show other items in each turn, so then all of them are digested.
  const fresh = items.length >= scope.seenItems && !isChosen ? items.slice(scope.seenItems) : items;
  scope.seenItems = isChosen ? 0 : items.length;
  return scope.log.add('model.requested', {
    ...who,
    inputItems: items.length,
    inputDigest: digestOf(toJson({ instructions: request.systemInstructions ?? null, items: fresh })),
    ...(scope.source.isBeforeTerms(who.turn)
      ? { tools: toolNames(request) }
      : { tools: offeredNames(request), terms: termsOf(request) }),
  });
}

const askOrReplay = async (scope: SegmentContext, model: AskedModel, turn: Turn): Promise<ModelResult> =>
  turn.recorded ?? askModel(scope, chosenModel(scope) ?? model, sentRequest(scope, turn.agent, turn.request), turn);

/** A replay asks a program again, and compares: it is to say the same of the same. */
function compareProgram(
  { source, chosen }: SegmentContext,
  { model }: AskedModel,
  { number, request, recorded }: Turn,
): void {
  if (!(model instanceof ProgramModel) || chosen !== null || recorded?.type !== 'answer') return;
  source.answeredBy(
    number,
    () => model.answer(request, { logicalTime: 0, recorded: recorded.output, timeOver: null }).output,
  );
}

/** Logs the answer and gives its calls their ids. Throws `SegmentStop` for anything that is not an answer. */
function acceptAnswer(scope: SegmentContext, turn: Turn, result: ModelResult): ModelAnswer {
  const { number, agent, model, requestedKey } = turn;
  switch (result.type) {
    case 'halted':
      throw stopWith(scope, stopFromHalt(result.why));
    case 'failed': {
      const failed = { turn: number, agent, model, error: { ...result.error } };
      scope.log.add('model.failed', failed, requestedKey, result.charges);
      throw stopWith(scope, { type: 'failed', error: result.error });
    }
    case 'exhausted':
      throw waitBefore(scope, budgetWait(scope.run.id, { turn: number, agent }, result.budget, requestedKey));
    case 'answer': {
      const { output, finishReason } = logAnswer(scope, turn, result);
      const given = outputOrError(scope, number, finishReason, output);
      if (given instanceof HoldfastError) throw stopWith(scope, { type: 'failed', error: given.view() });
      return { ...result, output: given };
    }
  }
}

function logAnswer(scope: SegmentContext, turn: Turn, answer: Answer): Pick<ModelAnswer, 'output' | 'finishReason'> {
  const { number, agent, model, requestedKey, recorded } = turn;
  const { usage, responseId, route, cost, charges = [] } = answer;
  const output =
    recorded === null
      ? withOwnCallIds(scope, number, withReadCalls(scope, agent, answer, turn.conversation))
      : withRecordedIds(scope, answer.output);
  const finishReason = recorded === null ? reasonOf(answer.finishReason, output) : answer.finishReason;
  scope.usage = addUsage(scope.usage, usage);
  scope.totalTokens += usage.totalTokens;
  const terms = { ...(finishReason && { finishReason }), ...(route && { route }), ...(cost && { cost }) };
  const answered = { turn: number, agent, model, responseId, output: [...output], usage, ...terms };
  addAnswer(scope, answered, { step: `model:${number}`, from: requestedKey, charges });
  return { output, ...(finishReason && { finishReason }) };
}

const stopWith = (scope: SegmentContext, stop: NonNullable<SegmentContext['stop']>): SegmentStop => {
  scope.stop = stop;
  return new SegmentStop(stop);
};

const failWith = (scope: SegmentContext, code: 'limit_turns' | 'limit_tokens', message: string): SegmentStop =>
  stopWith(scope, { type: 'failed', error: new HoldfastError(code, message).view() });

/** Takes the turn back: the next segment asks the model for it. `wait` null: the wait is in the log. */
function waitBefore(scope: SegmentContext, wait: Wait | null): SegmentStop {
  scope.turns--;
  scope.turnsInSegment--;
  if (wait !== null) scope.waits.push(wait);
  return stopWith(scope, { type: 'wait' });
}
