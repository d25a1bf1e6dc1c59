import { DBOS } from '@dbos-inc/dbos-sdk';
import {
  type Model,
  type ModelProvider,
  type ModelRequest,
  type ModelResponse,
  type StreamEvent,
  Usage,
} from '@openai/agents';
import { HoldfastError } from '../../src/core/errors/errors.js';
import { digestOf, isObject, type JsonValue, toJson } from '../../src/core/json.js';
import type { Wait } from '../../src/core/runs/ending.js';
import { addUsage } from '../../src/core/runs/run.js';
import { finishReasonIn, isCutReason } from '../../src/models/providers/answer-terms.js';
import type { AttemptTarget } from '../../src/models/providers/model-attempt.js';
import { targetOf } from '../../src/models/providers/multi-model-provider.js';
import { attemptOf } from '../../src/models/providers/single-attempt.js';
import { streamedResponse } from '../../src/models/providers/streamed-response.js';
import { withoutSpokenSecretsIn } from '../../src/models/secrets/known-secrets.js';
import { hasStep } from '../../src/storage/dbos/segment-rows.js';
import { callModel, type ModelAnswer, type ModelResult } from '../../steps/calls/call-model.js';
import { catchingLate } from '../../steps/calls/late-throws.js';
import { TurnCharges } from '../../steps/calls/turn-charges.js';
import { withDatabaseRetry } from '../../steps/database-retry.js';
import { durableStep } from '../durable-step.js';
import { modelResultOf } from '../replay/recorded-source.js';
import { breatheInRecorded } from '../resume/rebuild-state.js';
import { currentSegment, type SegmentContext, SegmentStop, stopFromHalt } from '../segment-context.js';
import { authorizeCalls, wrapperFinder } from '../tool-calls/authorize-calls.js';
import { withOwnCallIds, withRecordedIds } from './call-ids.js';
import { afterCut, outputOrError } from './cut-answer.js';
import { failureOfModel } from './failure-of-model.js';
import { budgetWait, chargedIn } from './model-budgets.js';
import { offeredNames, termsOf, toolNames } from './request-terms.js';
import { shownRequest } from './run-scaffold.js';
import { restoreHistory, trimHistory } from './trim-history.js';

/** A model as it is asked in a run: how the log calls it, and who that is for budgets and prices. */
interface Named {
  readonly model: Model;
  readonly name: string;
  readonly target: AttemptTarget;
}

/** A model whose calls are durable steps while a segment runs, and plain calls elsewhere. */
class DurableModel implements Model {
  readonly #model: Model;
  readonly #named: Named;

  constructor(named: Named) {
    this.#model = named.model;
    this.#named = named;
  }

  getResponse(request: ModelRequest): Promise<ModelResponse> {
    const scope = currentSegment();
    return typeof scope === 'object' ? takeTurn(scope, this.#named, request) : this.#model.getResponse(request);
  }

  getStreamedResponse(request: ModelRequest): AsyncIterable<StreamEvent> {
    if (typeof currentSegment() === 'object') {
      throw new HoldfastError(
        'agent_invalid',
        'A streamed model call cannot be a durable step; run the agent without streaming.',
      );
    }
    return this.#model.getStreamedResponse(request);
  }
}

const durable = new WeakMap<Model, Map<string, DurableModel>>();

/** The durable side of a model that an agent holds itself, as the log calls it: the name of the agent. */
export const asDurable = (model: Model, agent: string): Model =>
  durableOf({ model, name: agent, target: { provider: 'object', model: agent } });

/** The name is not that of whoever came first in this process. */
function durableOf(named: Named): Model {
  const { model, name, target } = named;
  if (model instanceof DurableModel) return model;
  const names = durable.get(model) ?? new Map<string, DurableModel>();
  durable.set(model, names);
  const key = `${target.provider} ${name}`;
  const known = names.get(key) ?? new DurableModel(named);
  names.set(key, known);
  return known;
}

/** A provider whose models are durable. */
export const durableProvider = (provider: ModelProvider): ModelProvider => ({
  getModel: async (name) =>
    durableOf({ model: await provider.getModel(name), name: name ?? 'default', target: targetOf(name) }),
});

/** One turn: asks the model in a step, judges what it asks for, and hands the response to the SDK. */
async function takeTurn(scope: SegmentContext, named: Named, asked: ModelRequest): Promise<ModelResponse> {
  await breatheInRecorded(scope);
  // Only who may leave asks, so that nothing is waited for otherwise.
  const drains = mayDrain(scope) && !(await wasAsked(scope, scope.turns + 1));
  stopIfDue(scope, drains);
  const whole = restoreHistory(scope.state, asked);
  const shown = shownRequest(scope, agentOf(scope), whole);
  const request = afterCut(scope, shown ?? whole);
  const findWrapper = wrapperFinder(request);
  const turn = ++scope.turns;
  scope.turnsInSegment++;
  const agent = agentOf(scope);
  const isPause = scope.recorded?.pausesAt(turn) === true;
  const recorded = isPause ? null : (scope.recorded?.answer(turn) ?? null);
  const present = scope.run.model ?? named.name;
  const name = recorded?.model ?? present;
  const model = scope.recorded?.modelAsked(turn, name, present) ?? name;
  const requested = logRequest(scope, request, { turn, agent, model }, shown !== null);
  if (isPause) throw waitBefore(scope, null);
  const result =
    recorded === null ? await askModel(scope, chosenOf(scope) ?? named, request, turn) : modelResultOf(recorded);
  if (result.type === 'halted') throw stopWith(scope, stopFromHalt(result.why));
  if (result.type === 'failed') {
    scope.log.add('model.failed', { turn, agent, model: name, error: { ...result.error } }, requested, result.charges);
    throw stopWith(scope, { type: 'failed', error: result.error });
  }
  if (result.type === 'exhausted')
    throw waitBefore(scope, budgetWait(scope.run.id, { turn, agent }, result.budget, requested));
  const { usage, responseId, route, cost, finishReason, charges = [] } = result;
  const output = recorded === null ? withOwnCallIds(scope, turn, result.output) : withRecordedIds(scope, result.output);
  scope.usage = addUsage(scope.usage, usage);
  scope.totalTokens += usage.totalTokens;
  const chosen = { ...(finishReason && { finishReason }), ...(route && { route }), ...(cost && { cost }) };
  const answered = { turn, agent, model: name, responseId, output: [...output], usage, ...chosen };
  scope.log.add('model.responded', answered, requested, charges);
  const given = outputOrError(scope, turn, finishReason, output);
  if (given instanceof HoldfastError) throw stopWith(scope, { type: 'failed', error: given.view() });
  await authorizeCalls(scope, agent, given, findWrapper);
  if (scope.state !== null && scope.parentCall === null) trimHistory(scope.state);
  return responseOf({ ...result, output: given });
}

const stopWith = (scope: SegmentContext, stop: NonNullable<SegmentContext['stop']>): SegmentStop => {
  scope.stop = stop;
  return new SegmentStop(stop);
};

/** The turn is not taken: the next segment asks the model for it. `wait` null: the log has it. */
function waitBefore(scope: SegmentContext, wait: Wait | null): SegmentStop {
  scope.turns--;
  scope.turnsInSegment--;
  if (wait !== null) scope.waits.push(wait);
  return stopWith(scope, { type: 'wait' });
}

/** No model call happens after a limit, a cancellation, or while a call waits for a decision. */
function stopIfDue(scope: SegmentContext, drains: boolean): void {
  if (scope.stop !== null) throw new SegmentStop(scope.stop);
  const { maxTurns, maxTotalTokens } = scope.run.limits;
  if (scope.turns >= maxTurns) {
    const error = new HoldfastError(
      'limit_turns',
      `The run took ${scope.turns} turns and wanted another; its limit is ${maxTurns} (maxTurns).`,
    );
    throw stopWith(scope, { type: 'failed', error: error.view() });
  }
  if (maxTotalTokens !== null && scope.totalTokens >= maxTotalTokens) {
    const error = new HoldfastError(
      'limit_tokens',
      `The run used ${scope.totalTokens} tokens; its limit is ${maxTotalTokens} (maxTotalTokens).`,
    );
    throw stopWith(scope, { type: 'failed', error: error.view() });
  }
  // What was recorded of the segment is not cut off from it.
  if (scope.recorded?.asked(scope.turns + 1) === true) return;
  if (scope.turnsInSegment >= scope.turnsPerSegment || drains) throw stopWith(scope, { type: 'cut' });
}

/** What was recorded ends where it ended; a segment that has done nothing yet would only be begun again. */
const mayDrain = (scope: SegmentContext): boolean =>
  scope.recorded?.isOver !== false && scope.turnsInSegment > 0 && scope.isDraining();

/** An execution before this one may have recorded more turns: what it recorded is not cut off either. */
const wasAsked = ({ ctx }: SegmentContext, next: number): Promise<boolean> =>
  withDatabaseRetry(() => hasStep(ctx.knex, DBOS.workflowID ?? '', `model:${next}`));

const agentOf = (scope: SegmentContext): string => scope.state?.currentAgent.name ?? scope.run.agent;

function logRequest(
  scope: SegmentContext,
  request: ModelRequest,
  who: { turn: number; agent: string; model: string },
  isChosen: boolean,
): string {
  const items = typeof request.input === 'string' ? [request.input] : request.input;
  // The log says what the run was told before; only what is new to the model is digested, so that a turn costs no more
  // in a long run than in a short one. What a scaffold shows may be other items every time.
  const fresh = items.length >= scope.seenItems && !isChosen ? items.slice(scope.seenItems) : items;
  scope.seenItems = isChosen ? 0 : items.length;
  return scope.log.add('model.requested', {
    ...who,
    inputItems: items.length,
    inputDigest: digestOf(toJson({ instructions: request.systemInstructions ?? null, items: fresh })),
    ...(scope.recorded?.isBeforeTerms(who.turn) === true
      ? { tools: toolNames(request) }
      : { tools: offeredNames(request), terms: termsOf(request) }),
  });
}

/** The model that is asked in place of those of the agents. */
const chosenOf = ({ chosen, run }: SegmentContext): Named | null =>
  chosen === null || run.model === null ? null : { model: chosen, name: run.model, target: targetOf(run.model) };

async function askModel(
  scope: SegmentContext,
  { model, target }: Named,
  request: ModelRequest,
  turn: number,
): Promise<ModelResult> {
  const { id: runId, taskType } = scope.run;
  const watch = chargesOf(scope, turn);
  const ask = async (signal: AbortSignal): Promise<ModelAnswer> => {
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
  return durableStep(scope, `model:${turn}`, async () =>
    watch.endOf(await callModel(caught, failureOfModel, scope.signal)),
  );
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
  // A call of an answer that was cut may be cut too, whoever made the model.
  const whole = isCutReason(finishReason) ? output.filter(({ type }) => type !== 'function_call') : output;
  const items = withoutSpokenSecretsIn(toJson(whole));
  const kept = withoutSpokenSecretsIn(toJson(rest));
  const { inputTokens, outputTokens, totalTokens } = usage;
  return {
    type: 'answer',
    responseId: responseId ?? null,
    output: Array.isArray(items) ? items.filter(isObject) : [],
    usage: { inputTokens: count(inputTokens), outputTokens: count(outputTokens), totalTokens: count(totalTokens) },
    ...(finishReason === null ? {} : { finishReason }),
    rest: { usage: toJson(usage), ...(isObject(kept) ? kept : {}) },
  };
}

const count = (tokens: number): number => (Number.isSafeInteger(tokens) && tokens > 0 ? tokens : 0);

/** The response as the SDK wants it. Arguments that are not a JSON object are wrapped, so that its parser accepts them. */
function responseOf(answer: ModelAnswer): ModelResponse {
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
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return text;
  } catch {
    // Falls through: the guard tells the model what is wrong with it.
  }
  return JSON.stringify({ not_a_json_object: text });
}
