import { type Model, type ModelRequest, type ModelResponse, Usage } from '@openai/agents';
import { HoldfastError } from '../../src/core/errors/errors.js';
import { isObject, type JsonValue, toJson } from '../../src/core/json.js';
import { tokenCount } from '../../src/models/budgets/usage-tokens.js';
import { FinalModelError, httpStatusOf } from '../../src/models/failures/model-call-error.js';
import { classifyModelFailure } from '../../src/models/failures/model-failure.js';
import { ProgramModel } from '../../src/models/program-model.js';
import { finishReasonIn, isCutReason } from '../../src/models/providers/answer-terms.js';
import type { AttemptTarget } from '../../src/models/providers/model-attempt.js';
import { targetOf } from '../../src/models/providers/multi-model-provider.js';
import { attemptOf } from '../../src/models/providers/single-attempt.js';
import { streamedResponse } from '../../src/models/providers/streamed-response.js';
import { withoutSpokenSecretsIn } from '../../src/models/secrets/known-secrets.js';
import { ageOfRun, timeOverText } from '../../src/storage/runs/run-deadlines.js';
import { callModel, type ModelAnswer, type ModelFailure, type ModelResult } from '../../steps/calls/call-model.js';
import { catchingLate } from '../../steps/calls/late-throws.js';
import { TurnCharges } from '../../steps/calls/turn-charges.js';
import { withDatabaseRetry } from '../../steps/database-retry.js';
import { durableStep } from '../durable-step.js';
import { placeInLog } from '../place-in-log.js';
import type { SegmentContext } from '../segment-context.js';
import { chargedIn } from './model-budgets.js';

/** A model as it is asked in a run: its name in the log, and its target for budgets and prices. */
export interface AskedModel {
  readonly model: Model;
  readonly name: string;
  readonly target: AttemptTarget;
}

/** The model that is asked in place of those of the agents. */
export const chosenModel = ({ chosen, run }: SegmentContext): AskedModel | null =>
  chosen === null || run.model === null ? null : { model: chosen, name: run.model, target: targetOf(run.model) };

export async function askModel(
  scope: SegmentContext,
  { model, target }: AskedModel,
  request: ModelRequest,
  { number: turn, requestedKey }: { readonly number: number; readonly requestedKey: string },
): Promise<ModelResult> {
  const { id: runId, taskType } = scope.run;
  const watch = chargesOf(scope, turn);
  const ask = async (signal: AbortSignal): Promise<ModelAnswer> => {
    if (model instanceof ProgramModel) {
      const logicalTime = model.knowsLogicalTime ? await placeInLog(scope, requestedKey) : 0;
      const timeOver = await whyTimeIsOver(scope);
      return answerOf(model.answer({ ...request, signal }, { logicalTime, recorded: null, timeOver }));
    }
    const attempt = attemptOf(model, target, { runId, taskType, watch });
    const answer = answerOf(await respond(scope, attempt, { ...request, signal }, turn));
    return { ...answer, ...watch.paid, ...(attempt.route && { route: attempt.route }) };
  };
  const code = { what: `the model ${target.model}`, runId, tool: null, callId: null };
  const caught = (signal: AbortSignal) => {
    // The request's own signal is the bound of time of its model settings.
    const both = request.signal === undefined ? signal : AbortSignal.any([signal, request.signal]);
    return catchingLate(code, ask, both);
  };
  const asked = async () => watch.endOf(await callModel(caught, failureOfModel, scope.signal));
  return durableStep(scope, `model:${turn}`, asked, { ahead: scope.deltas === null });
}

/** Why the time of a run is over that undoes what it did; null: it is not. */
async function whyTimeIsOver({ run: { id, limits, undoes }, ctx }: SegmentContext): Promise<string | null> {
  const { maxElapsedMs } = limits;
  if (!undoes || maxElapsedMs === undefined) return null;
  const ageMs = await withDatabaseRetry(() => ageOfRun(ctx.knex, id));
  return ageMs < maxElapsedMs ? null : timeOverText(maxElapsedMs);
}

const chargesOf = (scope: SegmentContext, turn: number): TurnCharges =>
  new TurnCharges(scope.ctx, { ...chargedIn(scope), turn, execution: scope.execution });

/** Asks the model, whole or in pieces, to the same end. Each try to get the answer of a turn is an attempt of its own. */
async function respond(
  { run, deltas }: SegmentContext,
  model: Model,
  request: ModelRequest & { readonly signal: AbortSignal },
  turn: number,
): Promise<ModelResponse> {
  if (deltas === null) return model.getResponse(request);
  const attempt = deltas.begin(run.id, turn);
  const end = (): void => attempt.end();
  // A model that ignores its signal is left behind, and is not heard any more.
  request.signal.addEventListener('abort', end, { once: true });
  try {
    return await streamedResponse(model, request, (delta) => attempt.add(delta));
  } finally {
    request.signal.removeEventListener('abort', end);
    end();
  }
}

function answerOf(response: ModelResponse): ModelAnswer {
  const { output, usage, responseId, ...rest } = response;
  const finishReason = finishReasonIn(response);
  // A call of an answer that was cut may be cut too, the one that made the model.
  const whole = isCutReason(finishReason) ? output.filter(({ type }) => type !== 'function_call') : output;
  const items = withoutSpokenSecretsIn(toJson(whole));
  const kept = withoutSpokenSecretsIn(toJson(rest));
  const [inputTokens, outputTokens] = [count(usage.inputTokens), count(usage.outputTokens)];
  const counts = { inputTokens, outputTokens, totalTokens: count(usage.totalTokens) || inputTokens + outputTokens };
  return {
    type: 'answer',
    responseId: responseId ?? null,
    output: Array.isArray(items) ? items.filter(isObject) : [],
    usage: counts,
    ...(finishReason === null ? {} : { finishReason }),
    rest: { usage: toJson({ ...usage, ...counts }), ...(isObject(kept) ? kept : {}) },
  };
}

const count = (tokens: number): number => tokenCount(tokens) ?? 0;

/** The response as the SDK wants it. Arguments that are not a JSON object are wrapped, so that its parser accepts them. */
export function responseOf(answer: ModelAnswer): ModelResponse {
  const { usage, ...rest } = answer.rest;
  const output = answer.output.map((item) =>
    item['type'] === 'function_call' ? { ...item, arguments: parseable(item['arguments']) } : item,
  );
  return {
    ...rest,
    ...(answer.responseId === null ? {} : { responseId: answer.responseId }),
    usage: new Usage(isObject(usage) ? { ...usage } : {}),
    // Parsed from what the provider gave as output items before; the SDK checks them again.
    output: output as unknown as ModelResponse['output'],
  };
}

function parseable(text: JsonValue | undefined): string {
  if (typeof text !== 'string' || text === '') return '{}';
  try {
    const value: unknown = JSON.parse(text);
    // The SDK compares arguments by a function that calls itself for each level.
    if (isObject(value) && isObject(toJson(value))) return text;
  } catch {
    // Falls through: the guard tells the model what is wrong with it.
  }
  return JSON.stringify({ not_a_json_object: text });
}

/** What a model call that threw fails its run with, and whether the same call may succeed later. */
function failureOfModel(error: unknown): ModelFailure {
  if (error instanceof FinalModelError) return { error: error.view(), retryable: false, retryAfterMs: null };
  const { code, message, retryable, retryAfterMs, hint } = classifyModelFailure(error);
  const why = code === 'model_failed' && !retryable && isRefusal(httpStatusOf(error)) ? 'model_refused' : code;
  return { error: new HoldfastError(why, message, hint === null ? {} : { hint }).view(), retryable, retryAfterMs };
}

/** The server was there and would not: a key that is wrong, a request that it cannot take. */
const isRefusal = (status: number | null): boolean => status !== null && status >= 400 && status < 500;
