import { SpendCap } from '../../src/core/budgets/budget.js';
import { ERRORS } from '../../src/core/errors/errors.js';
import type { JsonValue } from '../../src/core/json.js';
import type { EventData, EventDraft } from '../../src/core/log/event.js';
import type { RecordedSegment } from '../../src/core/log/recording.js';
import { usdOf } from '../../src/core/money.js';
import { type AskedBefore, RecordedCalls } from '../../src/core/replay/begun-calls.js';
import { type LiveStop, namedCalls } from '../../src/core/replay/live-replay.js';
import { namedValue } from '../../src/core/replay/replay.js';
import type { Wait } from '../../src/core/runs/ending.js';
import type { ToolResult } from '../../steps/calls/call-tool.js';
import { executeAgain, type RepeatableCall } from '../../steps/calls/execute-again.js';
import type { Refused } from '../call-source.js';
import { inStep } from '../segment-context.js';
import { RecordedSource } from './recorded-source.js';
import { LogEnds } from './replay-source.js';

export interface LiveOptions {
  readonly run: { readonly id: string; readonly tenant: string };
  /** Nano-dollars; null: no bound. */
  readonly maxNanos: bigint | null;
  /** Whether calls of pure tools that no one has recorded are executed. */
  readonly executePure: boolean;
  readonly now: () => number;
  /** Ends it before its time. */
  readonly signal: AbortSignal;
}

/** The segment that all of a live replay is: it begins with the input of the run, and is not cut. */
export const ONE_SEGMENT: RecordedSegment = {
  ...{ segment: 0, first: 0, decisions: [], ending: null, context: null, events: new Map() },
  ...{ answers: new Map(), calls: new Map(), failures: new Map() },
};

/**
 * A recording whose calls are used and whose answers are not: models are asked, and callbacks that steer the agent are heard. A call
 * that is not recorded ends it.
 */
export class LiveReplaySource extends RecordedSource {
  readonly answers: EventData<'model.responded'>[] = [];
  stopped: LiveStop | null = null;
  /** How many calls of pure tools were executed. */
  executed = 0;
  override readonly spendCap: SpendCap;
  readonly #options: LiveOptions;
  readonly #calls: RecordedCalls;
  /** The recorded calls that those of the new answers are the same as, and what these were given. */
  readonly #same = new Map<string, AskedBefore | null>();
  readonly #arguments = new Map<string, JsonValue>();
  #turn = 0;

  constructor(segments: readonly RecordedSegment[], options: LiveOptions) {
    super(listsOf(segments), { closed: true, snapshot: null, standing: [] });
    this.#options = options;
    this.spendCap = new SpendCap(options.maxNanos);
    this.#calls = new RecordedCalls(segments);
  }

  /** Nothing of it is written. */
  override accepts(draft: EventDraft): boolean {
    if (draft.kind === 'model.requested') this.#turn = draft.data.turn;
    if (draft.kind === 'model.responded') this.answers.push(draft.data);
    if (draft.kind === 'call.checked') {
      const { callId, tool, arguments: args } = draft.data;
      this.#arguments.set(callId, args);
      if (!this.#same.has(callId)) this.#same.set(callId, this.#calls.take(tool, args));
    }
    return false;
  }

  /** Models are asked until there is a reason to stop. */
  protected override takes(step: string): boolean {
    return step.startsWith('model:') && this.stopped === null;
  }

  override hears(callback: string): boolean {
    return callback !== 'hook';
  }

  override has(): boolean {
    return false;
  }

  override handsOver(): boolean {
    return true;
  }

  protected override answer(): null {
    return null;
  }

  override decided(callId: string): { readonly refused: Refused | null } | null {
    const same = this.#same.get(callId) ?? null;
    if (same === null || !same.decided) return null;
    const outcome = same.end?.outcome;
    return { refused: outcome?.type === 'refused' ? outcome : null };
  }

  override refusedByGuardrail(callId: string): string | null | undefined {
    const end = this.#same.get(callId)?.end ?? null;
    if (end === null) return undefined;
    return end.outcome.type === 'refused' && end.outcome.why === 'guardrail' ? end.outcome.message : null;
  }

  override result(callId: string): ToolResult | null {
    return this.#same.get(callId)?.end ?? null;
  }

  override executes(call: RepeatableCall): Promise<ToolResult | null> | null {
    // A call beside it has ended the replay.
    if (this.stopped !== null) return null;
    const { effect, resume, step } = call.spec;
    const isPure = effect === 'pure' && resume === null && step === undefined;
    if (isPure && this.#options.executePure) return this.#execute(call);
    this.#stopAt(
      call,
      isPure ? `It is not executed without executePure. ${WAY_OUT}` : `It is not executed. ${WAY_OUT}`,
    );
    return null;
  }

  override beyond(step: string): Error {
    const [, server] = LISTS.exec(step) ?? [];
    if (server !== undefined) {
      const text = `The log does not have the tools of the MCP server ${server}, and a replay asks no server. ${WAY_OUT}`;
      this.#stop({ why: 'server_not_recorded', text, ...NO_CALL });
    }
    return new LogEnds(step);
  }

  /** Where the agent comes to wait for what the run did not get. */
  stopUndecided(wait: Pick<Wait, 'callId' | 'tool' | 'arguments'>): void {
    const { callId, tool, arguments: args } = wait;
    const text = `${tool} (${callId}) waits for a decision that the log does not have for this call. ${WAY_OUT}`;
    this.#stop({ why: 'undecided', text, callId, tool, arguments: args });
  }

  stopLate(text: string): void {
    this.#stop({ why: 'limit_time', text, ...NO_CALL });
  }

  /** Where there was no money for the next answer. */
  stopShort(): void {
    const { refusal, paid } = this.spendCap;
    if (refusal === null) return;
    const { code, text } = refusal;
    if (code === 'price_unknown') this.#stop({ why: code, text: `${text} ${ERRORS[code].hint}`, ...NO_CALL });
    else this.#stop({ why: 'max_usd', text: `${text} It has cost ${usdOf(paid)} so far. ${MORE_MONEY}`, ...NO_CALL });
  }

  async #execute(call: RepeatableCall): Promise<ToolResult | null> {
    const { run, now, signal } = this.#options;
    const outcome = await inStep(() => executeAgain(call, run, now, signal));
    if (outcome === null) this.#stopAt(call, 'It took too long, or came to wait.');
    else this.executed++;
    return outcome === null ? null : { type: 'settled', outcome };
  }

  #stopAt({ callId, spec }: RepeatableCall, way: string): void {
    const isSame = (this.#same.get(callId) ?? null) !== null;
    const why = isSame ? 'call_without_outcome' : 'call_not_recorded';
    const what = isSame ? 'The log has no outcome of' : 'The log does not have';
    const text = `${what} this call of ${spec.name} (${callId}). ${way}`;
    this.#stop({ why, text, callId, tool: spec.name, arguments: this.#arguments.get(callId) ?? null });
  }

  /** The first stop says where the replay ends: calls beside it may come to others. */
  #stop(stop: Omit<LiveStop, 'turn' | 'unused'>): void {
    const unused = stop.tool === null ? [] : namedCalls(this.#calls.unused(stop.tool));
    const named = { arguments: namedValue(stop.arguments), unused: unused.map(namedValue) };
    const callId = stop.callId === null ? null : cut(stop.callId);
    this.stopped ??= { ...stop, callId, text: cut(stop.text), turn: this.#turn, ...named };
  }
}

const NO_CALL = { callId: null, tool: null, arguments: null };

/** The step in which an MCP server is asked for its tools. */
const LISTS = /^mcp:tools:(.*)$/s;

/** Models make up the ids of calls, as long as they like. */
const cut = (text: string): string => text.slice(0, 1000).toWellFormed();

/** What someone can do about a call that no one has recorded. */
const WAY_OUT = 'To go on live from the recorded turns, fork the run.';

/** What someone can do where the next answer may cost more than is left. */
const MORE_MONEY = 'Give it a higher maxUsd, or set maxTokens of the model.';

/** All that is executed of a log by its segments: what servers have listed. */
const listsOf = (segments: readonly RecordedSegment[]): RecordedSegment => ({
  ...ONE_SEGMENT,
  events: new Map(segments.flatMap(({ events }) => [...events].filter(([, { kind }]) => kind.startsWith('mcp.')))),
});
