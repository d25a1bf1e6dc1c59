import type { Agent, FunctionToolResult, ModelRequest } from '@openai/agents';
import { callsIn, endingStep, plainStep, type StepResult, shapedBy, shownBy } from '../../src/core/agents/scaffold.js';
import { itemsOfInput } from '../../src/core/agents/session.js';
import { HoldfastError } from '../../src/core/errors/errors.js';
import { type JsonObject, toJson } from '../../src/core/json.js';
import type { CallOutcome } from '../../src/core/log/call-outcome.js';
import { said } from '../../src/core/trajectories/trajectory-step.js';
import { isCutReason } from '../../src/models/providers/answer-terms.js';
import { boundOutput } from '../../src/tools/define/output-bound.js';
import type { ToolResult } from '../../steps/calls/call-tool.js';
import type { RunScaffold } from '../segment-context.js';
import { type AuthorizedCall, type SegmentContext, SegmentStop } from '../segment-context.js';

const heldBy = ({ run, parentCall }: SegmentContext, name: string): RunScaffold | null =>
  run.scaffold !== null && parentCall === null && run.scaffold.agent.name === name ? run.scaffold : null;

const workdirOf = ({ run }: SegmentContext): string => run.environment?.spec.workdir ?? '/work';

/** The tools of an agent, with those of its scaffold. */
export const toolsWith = ({ run }: SegmentContext, agent: Agent, tools: Agent['tools']): Agent['tools'] =>
  run.scaffold?.agent === agent ? [...tools, ...run.scaffold.tools] : tools;

/** Whether a scaffold makes something else of results of calls. */
export const isShaped = (scope: SegmentContext, authorized: AuthorizedCall): boolean =>
  heldBy(scope, authorized.agent)?.scaffold.step !== undefined;

/** The result of a call as the scaffold shapes it, within the bound of its tool. Part of the step of the call. */
export function shaped(scope: SegmentContext, authorized: AuthorizedCall, result: ToolResult): ToolResult {
  const held = heldBy(scope, authorized.agent);
  if (held === null || result.type !== 'settled' || result.outcome.type === 'refused') return result;
  const { callId, arguments: args } = authorized;
  const { spec } = authorized.wrapped;
  try {
    const { outcome: given, note } = shapedBy(held.scaffold, {
      ...{ callId, tool: spec.name, arguments: args },
      outcome: result.outcome,
    });
    if (given.type === 'output') boundOutput(spec, given.output);
    const outcome = withStateOf(result.outcome, given);
    return { type: 'settled', outcome, ...(note && { note }) };
  } catch (error) {
    if (!(error instanceof HoldfastError)) throw error;
    const { code, message } = error;
    return { type: 'settled', outcome: { type: 'error', code, message } };
  }
}

/** What a call made of the state of the run stands, whatever a scaffold makes of what it gave. */
const withStateOf = (was: CallOutcome, is: CallOutcome): CallOutcome =>
  was.type === 'output' && was.state !== undefined && is.type === 'output' ? { ...is, state: was.state } : is;

/** A request with what the scaffold shows of the conversation; null: it shows all of it. What fails in it ends the run. */
export function shownRequest(scope: SegmentContext, agent: string, request: ModelRequest): ModelRequest | null {
  const scaffold = heldBy(scope, agent)?.scaffold;
  const { input } = request;
  if (scaffold?.history === undefined || typeof input === 'string') return null;
  try {
    // Items of the SDK are JSON objects.
    const shown = shownBy(scaffold, toJson(input) as readonly JsonObject[], { workdir: workdirOf(scope) });
    return { ...request, input: shown as unknown as Exclude<ModelRequest['input'], string> };
  } catch (error) {
    if (!(error instanceof HoldfastError)) throw error;
    scope.stop = { type: 'failed', error: error.view() };
    throw new SegmentStop(scope.stop);
  }
}

/** A request as it is sent: a model that acts by text is offered no tools. */
export const sentRequest = (scope: SegmentContext, agent: string, request: ModelRequest): ModelRequest =>
  heldBy(scope, agent)?.scaffold.read === undefined ? request : { ...request, tools: [] };

/** An answer with the calls that its scaffold reads in its text. What fails in it ends the run. */
export function withReadCalls(
  scope: SegmentContext,
  agent: string,
  { output, finishReason }: { readonly output: readonly JsonObject[]; readonly finishReason?: string | undefined },
  asked: ModelRequest['input'],
): readonly JsonObject[] {
  const scaffold = heldBy(scope, agent)?.scaffold;
  if (scaffold?.read === undefined || isCutReason(finishReason ?? null)) return output;
  try {
    const conversation = itemsOfInput(toJson(asked));
    const calls = callsIn(scaffold, said(output, 'message') ?? '', { conversation, workdir: workdirOf(scope) });
    return [
      ...output,
      ...calls.map(({ tool, arguments: given }) => ({
        ...{ type: 'function_call', callId: '', name: tool, status: 'completed', arguments: JSON.stringify(given) },
      })),
    ];
  } catch (error) {
    if (!(error instanceof HoldfastError)) throw error;
    scope.stop = { type: 'failed', error: error.view() };
    throw new SegmentStop(scope.stop);
  }
}

type Behavior = Extract<Agent['toolUseBehavior'], (...args: never) => unknown>;

/** Ends the loop when the scaffold says that it is over; null: no scaffold has a say. */
export function endingBy(scope: SegmentContext, agent: Agent): Behavior | null {
  const held = heldBy(scope, agent.name);
  if (held === null) return null;
  return async (_context, results) => {
    const steps = (await Promise.all(results.map((result) => stepOf(scope, result)))).flatMap((step) => step ?? []);
    if (steps.length === 0) return GOES_ON;
    try {
      const end = endingStep(held.scaffold, steps);
      return end === null ? GOES_ON : { isFinalOutput: true, isInterrupted: undefined, finalOutput: textOf(end) };
    } catch (error) {
      if (error instanceof HoldfastError) scope.stop ??= { type: 'failed', error: error.view() };
      throw error;
    }
  };
}

const GOES_ON = { isFinalOutput: false, isInterrupted: undefined } as const;

const textOf = ({ observation }: StepResult): string =>
  typeof observation === 'string' ? observation : JSON.stringify(observation);

async function stepOf(scope: SegmentContext, result: FunctionToolResult): Promise<StepResult | null> {
  const item = result.runItem.rawItem;
  const callId = item !== undefined && 'callId' in item ? item.callId : '';
  const authorized = scope.authorizedCalls.get(callId);
  const ended = await scope.results.get(callId);
  if (authorized === undefined || ended?.type !== 'settled' || ended.outcome.type === 'refused') return null;
  const { outcome } = ended;
  return plainStep(
    { callId, tool: authorized.wrapped.spec.name, arguments: authorized.arguments, outcome },
    ended.note,
  );
}
