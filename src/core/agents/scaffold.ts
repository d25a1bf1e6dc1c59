import { z } from 'zod';
import { HoldfastError } from '../errors/errors.js';
import { type JsonObject, type JsonValue, jsonObject, jsonValue } from '../json.js';
import type { CallOutcome } from '../log/call-outcome.js';
import type { ToolEnvironment } from '../tools/tool-environment.js';

/** What a scaffold makes of a call. */
const stepResult = z.strictObject({
  actionTaken: jsonValue.describe('What was done, in the words of the scaffold.'),
  observation: jsonValue.describe('What the model reads of it.'),
  reward: z.number().nullable().describe('Null: it says nothing of what the call is worth.'),
  done: z.boolean().describe('Whether nothing is left to do.'),
  info: jsonObject.describe('Whatever else should be known of it.'),
});
export type StepResult = z.infer<typeof stepResult>;

/** What of a step the log keeps beside its observation, which is the outcome of the call. */
export const stepNote = z.object(stepResult.omit({ observation: true }).shape);
export type StepNote = z.infer<typeof stepNote>;

/** By what a scaffold is known in logs. */
export const scaffoldName = z.object({ name: z.string(), version: z.string() });
export type ScaffoldName = z.infer<typeof scaffoldName>;

/** A call of the agent that was executed, and what came of it. */
export interface ScaffoldCall {
  readonly callId: string;
  readonly tool: string;
  readonly arguments: JsonValue;
  readonly outcome: Extract<CallOutcome, { type: 'output' | 'error' }>;
}

/** A call that stands in the text of an answer. */
export interface TextCall {
  readonly tool: string;
  readonly arguments: JsonObject;
}

/** The run that a conversation belongs to. */
export interface ScaffoldRun {
  /** Where its commands begin; `/work` where it has no environment. */
  readonly workdir: string;
}

/** What an answer is read in. */
export interface ReadContext extends ScaffoldRun {
  /** The whole conversation before the answer: items in the format of the Agents SDK. */
  readonly conversation: readonly JsonObject[];
}

/**
 * What stands between a model and its environment: the tools that the model has, and what it is shown. `read`, `step`,
 * `history` and `terminal` are pure functions of what they are given, since replays call them again. What they throw ends the run with
 * `scaffold_failed`.
 */
export interface Scaffold<Tool = unknown> {
  /** `[a-z][a-z0-9-]*`, at most 64 characters. Trajectories have it. */
  readonly name: string;
  /** Changes when it does something else. At most 64 characters. */
  readonly version: string;
  readonly tools: () => readonly Tool[];
  /** Grants that the tools need where commands begin in `workdir`. An agent with none for one of these actions is refused. */
  readonly grants?: (workdir: string) => readonly string[];
  /** Prepares the environment of a run, in one step before the first turn. Its commands run once. */
  readonly initialize?: (environment: ToolEnvironment) => Promise<void>;
  /** Shapes what came of an executed call. Without it the model reads the outcome as it is. */
  readonly step?: (call: ScaffoldCall) => StepResult;
  /**
   * Reads what a model that acts by text wants done: the calls that its answer asks for, none where the answer is the last one. With
   * it the model is offered no tools, so `history` says what it reads of calls and results.
   */
  readonly read?: (text: string, context: ReadContext) => readonly TextCall[];
  /** What the model is shown of the conversation: items in the format of the Agents SDK, each call together with its result. */
  readonly history?: (items: readonly JsonObject[], run: ScaffoldRun) => readonly JsonObject[];
  /** Whether the run is over after the calls of a response. Without it: when one of them is done. */
  readonly terminal?: (steps: readonly StepResult[]) => boolean;
}

const INFO_CHARS = 16_384;
const ARGUMENT_CHARS = 8192;
const SHOWN_CHARS = 200;

/** What a scaffold that shapes nothing makes of a call; `note` is what another one said of it. */
export const plainStep = (call: ScaffoldCall, note: StepNote | undefined): StepResult => ({
  ...(note ?? {
    actionTaken: { tool: call.tool, arguments: shortArguments(call.arguments) },
    ...{ reward: null, done: false, info: {} },
  }),
  observation: call.outcome.type === 'output' ? call.outcome.output : call.outcome.message,
});

/** Arguments as a step shows them: the log has them whole, with the start of the call. */
function shortArguments(given: JsonValue): JsonValue {
  if (JSON.stringify(given).length <= ARGUMENT_CHARS) return given;
  if (typeof given === 'string') return shortText(given);
  if (typeof given !== 'object' || given === null || Array.isArray(given)) return null;
  const short = Object.fromEntries(
    Object.entries(given).map(([name, value]) => [
      name,
      typeof value === 'string' ? shortText(value) : JSON.stringify(value).length <= SHOWN_CHARS ? value : null,
    ]),
  );
  return JSON.stringify(short).length <= ARGUMENT_CHARS ? short : null;
}

const shortText = (text: string): string =>
  text.length <= SHOWN_CHARS
    ? text
    : `${text.slice(0, SHOWN_CHARS).toWellFormed()}… (${text.length - SHOWN_CHARS} more characters)`;

/** Asks a scaffold. Throws `scaffold_failed`. */
function askScaffold<T>(name: string, member: string, ask: () => T): T {
  try {
    return ask();
  } catch (error) {
    throw scaffoldFailed(name, member, `threw: ${error instanceof Error ? error.message : String(error)}`);
  }
}

export const scaffoldFailed = (name: string, member: string, how: string): HoldfastError =>
  new HoldfastError('scaffold_failed', `${member} of the scaffold ${name} ${how}.`.slice(0, 4096).toWellFormed());

const CALLS_OF_TEXT = 100;
const textCalls = z
  .array(z.strictObject({ tool: z.string().min(1).max(64), arguments: jsonObject }))
  .max(CALLS_OF_TEXT);

/** The calls that stand in the text of an answer. Throws `scaffold_failed`. */
export function callsIn(
  { name, read }: Pick<Scaffold, 'name' | 'read'>,
  text: string,
  context: ReadContext,
): readonly TextCall[] {
  if (read === undefined) return [];
  const calls = textCalls.safeParse(askScaffold(name, 'read', () => read(text, structuredClone(context))));
  if (calls.success) return calls.data;
  const [issue] = calls.error.issues;
  throw scaffoldFailed(name, 'read', `gave no list of calls: /${issue?.path.join('/') ?? ''} ${issue?.message ?? ''}`);
}

/** The outcome of a call as its scaffold shapes it, and what the log keeps beside it. Throws `scaffold_failed`. */
export function shapedBy(
  { name, step }: Pick<Scaffold, 'name' | 'step'>,
  call: ScaffoldCall,
): { readonly outcome: ScaffoldCall['outcome']; readonly note: StepNote | undefined } {
  if (step === undefined) return { outcome: call.outcome, note: undefined };
  const said = stepResult.safeParse(askScaffold(name, 'step', () => step(call)));
  if (!said.success) {
    const [issue] = said.error.issues;
    throw scaffoldFailed(name, 'step', `is not right at /${issue?.path.join('/') ?? ''}: ${issue?.message ?? ''}`);
  }
  const { observation, ...note } = said.data;
  if (JSON.stringify([note.info, note.actionTaken]).length > INFO_CHARS)
    throw scaffoldFailed(name, 'step', `has more than ${INFO_CHARS} characters in info and actionTaken`);
  const { outcome } = call;
  return {
    outcome: outcome.type === 'output' ? { ...outcome, output: observation } : errorOf(outcome, observation),
    note,
  };
}

const errorOf = (
  outcome: Extract<CallOutcome, { type: 'error' }>,
  observation: JsonValue,
): Extract<CallOutcome, { type: 'error' }> => ({
  ...outcome,
  message: (typeof observation === 'string' ? observation : JSON.stringify(observation)).slice(0, 4096).toWellFormed(),
});

/** Whether a run is over by the calls of a response, and then the step whose observation is its output. Throws `scaffold_failed`. */
export function endingStep(
  { name, terminal }: Pick<Scaffold, 'name' | 'terminal'>,
  steps: readonly StepResult[],
): StepResult | null {
  const done = steps.find((one) => one.done);
  const isOver = terminal === undefined ? done !== undefined : askScaffold(name, 'terminal', () => terminal(steps));
  return isOver ? (done ?? steps.at(-1) ?? null) : null;
}

const shownItems = z.array(jsonObject).min(1).max(100_000);

/**
 * What a scaffold shows of a conversation. It gets a copy. Throws `scaffold_failed` where it gives something else than items, or takes
 * a call and its result apart: providers of models refuse such a conversation.
 */
export function shownBy(
  { name, history }: Pick<Scaffold, 'name' | 'history'>,
  items: readonly JsonObject[],
  run: ScaffoldRun,
): readonly JsonObject[] {
  if (history === undefined) return items;
  const shown = shownItems.safeParse(askScaffold(name, 'history', () => history(structuredClone(items), run)));
  if (!shown.success) throw failed(name, `gave no list of items: ${shown.error.issues[0]?.message ?? ''}`);
  const open = new Set<JsonValue | undefined>();
  for (const { type, callId } of shown.data) {
    if (type === 'function_call') open.add(callId);
    if (type === 'function_call_result' && !open.delete(callId))
      throw failed(name, `shows the result of the call ${String(callId)} without the call before it`);
  }
  const cut = items.find(({ type, callId }) => type === 'function_call_result' && open.has(callId));
  if (cut !== undefined) throw failed(name, `shows the call ${String(cut['callId'])} without its result`);
  return shown.data;
}

const failed = (name: string, how: string): HoldfastError => scaffoldFailed(name, 'history', how);
