import type { StepNote } from '../../src/core/agents/scaffold.js';
import type { AgentEnvironment } from '../../src/core/containers/environment.js';
import type { WorkspaceChanges } from '../../src/core/containers/workspace-changes.js';
import { HoldfastError } from '../../src/core/errors/errors.js';
import type { Settlement, WaitDecision } from '../../src/core/interruptions/settlement.js';
import { type AllowedElsewhere, begunElsewhereText } from '../../src/core/interruptions/standing.js';
import { type CallWait, isInterruption } from '../../src/core/interruptions/wait.js';
import { canonical } from '../../src/core/json.js';
import type { CallOutcome } from '../../src/core/log/call-outcome.js';
import { BodyLost, EffectUnknown, judgeCall, unknownEffectText } from '../../src/core/runs/call.js';
import type { ContextNote } from '../../src/core/runs/run-context.js';
import { seededRandom } from '../../src/core/seeded-random.js';
import type { BodyPlace, ToolContext, ToolSpec } from '../../src/core/tools/tool.js';
import { noEnvironment } from '../../src/core/tools/tool-environment.js';
import {
  type CallIntent,
  type CallRecord,
  claimCall,
  findCall,
  saveSettlement,
  settleCall,
} from '../../src/storage/runs/calls.js';
import { unwatched, type WatchedEnvironment, watchedEnvironment } from '../containers/watched-environment.js';
import type { StepContext } from '../context.js';
import { transact, withDatabaseRetry } from '../database-retry.js';
import { type FoundMemory, memoryOfCall } from '../memory/call-memory.js';
import { type Halt, haltOf } from './call-model.js';
import { CallNotes, type FoundState, settlementFor } from './call-notes.js';
import { type EarlierCalls, isAlone, writtenBefore } from './earlier-calls.js';
import { LateThrow } from './late-throws.js';
import { type Ended, errorOutcome, outputOf, placeOf, probe, runBody, withWrites } from './run-body.js';
import { type Continuation, continuationOf, saveWait, settledOutcome } from './wait-in-call.js';

export interface ToolCall {
  readonly intent: CallIntent;
  readonly spec: ToolSpec;
  readonly agent: string;
  readonly input: unknown;
  /** Runs the body: the tool's own `execute`, or `invoke` of a tool that declares nothing. */
  readonly body: (context: ToolContext) => Promise<unknown>;
  /** The decision on what this call waits for; null: there is none. */
  readonly waitDecision: WaitDecision | null;
  readonly require: (capability: string) => void;
  /** Where commands of the run execute; null: its agent has no environment. */
  readonly environment: AgentEnvironment | null;
  /** The state of the run; null: its agent has none. */
  readonly state: FoundState | null;
  /** The memory of the run; null: its agent has none. */
  readonly memory: FoundMemory | null;
  /** Finds the number of its `call.started` in the log. */
  readonly position: () => Promise<number>;
  /** The outcome that a person gave to a call that may have happened; its body does not run. */
  readonly known: CallOutcome | null;
  /** The interruption where a person approved that this call of unknown effect runs (again); good for one execution. */
  readonly repeatApprovedBy: string | null;
  /** Who allowed it in a run that this one was forked from; null: no one there, or someone here. */
  readonly allowedElsewhere: AllowedElsewhere | null;
  /** The calls of the run that may have left something. */
  readonly earlier: EarlierCalls;
  /** Has the outcome kept together with the step that the call is; null: a step is kept alone. */
  readonly keepWithStep: ((intent: CallIntent, outcome: CallOutcome) => CallOutcome) | null;
  /** Resolves when every step before this one is recorded: a call may begin earlier, and keeps nothing itself before. */
  readonly durable: () => Promise<void>;
}

export type ToolResult = ToolEnd & {
  readonly workspace?: WorkspaceChanges;
  /** What the call made of the context of the run; absent: nothing. */
  readonly context?: ContextNote;
};

type ToolEnd =
  /** `note`: what the scaffold of the agent said of it. `given`: digest of what the tool gave, where that is another outcome. */
  | { readonly type: 'settled'; readonly outcome: CallOutcome; readonly note?: StepNote; readonly given?: string }
  /** A guardrail ends the run by what the call gave. */
  | { readonly type: 'tripped'; readonly outcome: Extract<CallOutcome, { type: 'error' }>; readonly given?: string }
  /** Only a person can say whether it happened. */
  | { readonly type: 'unknown'; readonly text: string }
  /** Its body said that it must wait; its next execution goes on from there. */
  | { readonly type: 'waits'; readonly wait: CallWait }
  /** A newer process owns the run; this one must not act any more. */
  | { readonly type: 'superseded' }
  /** The run was stopped. `begun`: the body was at work, and an unsafe one may have had its effect. */
  | (Halt & { readonly begun: boolean })
  | { readonly type: 'halted'; readonly why: typeof SIBLING_FAILED; readonly begun: boolean };

/** Why a call is stopped that works beside one whose failure ends the run: the reason of its signal. */
export const SIBLING_FAILED = 'sibling_failed';

/**
 * Executes one tool call so that an unsafe effect is never repeated on its own: its intent is committed before, its
 * outcome right after. `logged` resolves when every event that came before the call is in the log.
 */
export async function callTool(
  ctx: StepContext,
  call: ToolCall,
  signal: AbortSignal,
  logged: () => Promise<void>,
): Promise<ToolResult> {
  const { intent, spec } = call;
  const record = await recordOf(ctx, call);
  if (record instanceof HoldfastError)
    return settled({ type: 'error', code: record.code, message: `${record.message} The call was not executed.` });
  if (record !== null && call.earlier.isNew(intent.callId)) return foreign(ctx, call);
  const sameCall = record === null || record.digest === intent.digest;
  if (!sameCall) {
    return settled({
      type: 'error',
      code: 'digest_mismatch',
      message: `The call id ${intent.callId} was used for another call before.`,
    });
  }
  if (call.known !== null && record?.outcome == null) return settle(ctx, call, call.known);
  const goesOn = continuationOf(record, call.waitDecision);
  const verdict = judgeCall({
    effect: spec.effect,
    record: record === null ? null : { ...record, waits: record.waiting !== null },
    execution: intent.execution,
    mayRepeat: spec.onUnknownEffect === 'rerun' || repeatApproved(call, record),
    settled: goesOn !== null,
  });
  if (verdict === 'known' && record?.outcome) return settled(record.outcome);
  if ((verdict === 'waits' || answeredElsewhere(call, goesOn)) && record?.waiting)
    return { type: 'waits', wait: record.waiting };
  if (goesOn !== null && call.waitDecision !== null && spec.resume === null) {
    return settle(
      ctx,
      call,
      settledOutcome(spec, call.waitDecision, goesOn, (value) => outputOf(spec, value)),
    );
  }
  const stop = new AbortController();
  const origin = record?.originRunId ?? intent.runId;
  const notes = new CallNotes(spec, call, ctx.now);
  const within = AbortSignal.any([signal, stop.signal]);
  const { environment, changes } = environmentOf(ctx, call, origin, within);
  const context = contextOf(ctx, call, { notes, origin, record }, within, environment);
  const found = verdict === 'unknown' ? await lookedFor(ctx, call, context) : null;
  if (found?.type === 'settled') return found;
  const held = (await askedAgain(ctx, call, record, goesOn)) ?? found;
  if (held !== null) return held;
  const place = signal.aborted ? null : await placeOf(spec, signal);
  if (place?.type === 'lost') return settle(ctx, call, errorOutcome(spec, place.error));
  try {
    return await begin(ctx, call, {
      record,
      goesOn,
      place: place?.place ?? null,
      context,
      changes,
      notes,
      stop,
      signal,
      logged,
    });
  } finally {
    place?.place?.release();
  }
}

interface Beginning {
  readonly record: CallRecord | null;
  readonly goesOn: Continuation | null;
  readonly place: BodyPlace | null;
  readonly context: ToolContext;
  readonly changes: WatchedEnvironment['changes'];
  readonly notes: CallNotes;
  readonly stop: AbortController;
  readonly signal: AbortSignal;
  readonly logged: () => Promise<void>;
}

/** Writes the intent, runs the body, and keeps how it ended. */
async function begin(ctx: StepContext, call: ToolCall, beginning: Beginning): Promise<ToolResult> {
  const { intent, spec, input } = call;
  const { record, goesOn, place, context, notes, stop, signal, logged } = beginning;
  if (spec.effect === 'unsafe' && !signal.aborted) await logged();
  if (signal.aborted) return halted(signal, false);
  if (spec.effect === 'unsafe' && !(await transact(ctx, (trx) => claimCall(trx, intent, goesOn)))) {
    // An execution before this one may have ended the call in this moment; else a newer process owns the run.
    const ended = await withDatabaseRetry(() => findCall(ctx.knex, intent.runId, intent.callId));
    return ended !== null && call.earlier.isNew(intent.callId) ? foreign(ctx, call) : standing(ended);
  }
  // Suspended and taken over amid the statements before, this process must not begin what others now ask about.
  if (!(await withDatabaseRetry(() => ctx.lease.isHeld()))) return { type: 'superseded' };
  const settlement = settlementFor(goesOn?.settlement ?? record?.resumed ?? null, notes.note);
  const body = place === null ? bodyAfterWait(call, settlement) : (inside: ToolContext) => place.run(input, inside);
  const began = performance.now();
  const ended = await runBody(spec, body, context, stop, signal);
  const workspace = typeof ended === 'object' ? await beginning.changes() : null;
  const concluded = await conclude(ctx, call, record, ended, notes, { ...context, signal });
  const result = workspace === null ? concluded : { ...concluded, workspace };
  const outcome = result.type === 'settled' ? result.outcome.type : result.type;
  ctx.metrics.executed(spec.name, outcome, (performance.now() - began) / 1000);
  return result;
}

/**
 * What is kept of a call. One that is new is not looked for, unless its effect must not happen twice. A `row_changed`: someone has
 * written what cannot be read.
 */
async function recordOf(
  ctx: StepContext,
  { intent, spec, earlier }: ToolCall,
): Promise<CallRecord | HoldfastError | null> {
  const isEarlier = earlier.has(intent.callId);
  if (spec.effect !== 'unsafe' && !isEarlier) return null;
  try {
    return await withDatabaseRetry(() => findCall(ctx.knex, intent.runId, intent.callId));
  } catch (error) {
    if (error instanceof HoldfastError && error.code === 'row_changed') return error;
    throw error;
  }
}

const halted = (signal: AbortSignal, begun: boolean): ToolResult =>
  signal.reason === SIBLING_FAILED ? { type: 'halted', why: SIBLING_FAILED, begun } : { ...haltOf(signal), begun };

/** What another execution of the call has left: it stands. */
function standing(record: CallRecord | null): ToolResult {
  if (record?.outcome) return settled(record.outcome);
  return record?.waiting ? { type: 'waits', wait: record.waiting } : { type: 'superseded' };
}

/** The body from its beginning, or from where it waited. */
const bodyAfterWait = ({ spec, body, input }: ToolCall, settlement: Settlement | null): ToolCall['body'] => {
  const { resume } = spec;
  return settlement === null || resume === null ? body : (context) => resume(input, settlement, context);
};

/** The execution that an approval was used for carries its id, so that a second crash asks again. */
export const executionKey = (execution: string, approval: string | null): string =>
  approval === null ? execution : `${execution}#${approval}`;

const repeatApproved = (call: ToolCall, record: CallRecord | null): boolean =>
  call.repeatApprovedBy !== null && record !== null && !record.execution.endsWith(`#${call.repeatApprovedBy}`);

const settled = (outcome: CallOutcome): ToolResult => ({ type: 'settled', outcome });

/** Keeps an outcome. The one that stands is given: of a call that no one else can have ended, this one whatever its row says. */
async function settle(
  ctx: StepContext,
  call: ToolCall,
  ended: CallOutcome,
  notes: CallNotes | null = null,
): Promise<ToolResult> {
  const { intent, earlier } = call;
  const outcome = await withWrites(ctx, call, ended, notes);
  await call.durable();
  const kept = await withDatabaseRetry(() => settleCall(ctx.knex, intent, outcome));
  if (!earlier.isNew(intent.callId) || canonical(kept) === canonical(outcome)) return settled(kept);
  return (await isAlone(ctx)) ? settled(outcome) : { type: 'superseded' };
}

/** A row of a call that only this execution can have begun, and did not: someone else wrote it, or has taken this process over. */
const foreign = async (ctx: StepContext, { intent }: ToolCall): Promise<ToolResult> =>
  (await isAlone(ctx)) ? writtenBefore(intent.callId) : { type: 'superseded' };

/** Keeps how a body ended. Of a call that may happen twice no one asks before its step is over. */
const settleLive = async (
  ctx: StepContext,
  call: ToolCall,
  record: CallRecord | null,
  outcome: CallOutcome,
  notes: CallNotes,
): Promise<ToolResult> =>
  call.keepWithStep === null || call.spec.effect === 'unsafe' || record !== null
    ? settle(ctx, call, outcome, notes)
    : settled(call.keepWithStep(call.intent, await withWrites(ctx, call, outcome, notes)));

async function conclude(
  ctx: StepContext,
  call: ToolCall,
  record: CallRecord | null,
  ended: Ended,
  notes: CallNotes,
  /** With the signal of the run: that of the body may be aborted. */
  live: ToolContext,
): Promise<ToolResult> {
  const { spec, intent } = call;
  notes.end();
  if (ended === 'halted') return halted(live.signal, true);
  if (ended === 'timeout') {
    const message = `${spec.name} did not end within ${spec.timeoutMs} ms.`;
    const outcome = { type: 'error', code: 'tool_timeout', message } as const;
    return leftBehind(ctx, call, record, notes, live, unknownEffectText(spec.name, 'timeout'), outcome);
  }
  if ('error' in ended && ended.error instanceof LateThrow) {
    const text = unknownEffectText(spec.name, 'threw', ended.error.message);
    return leftBehind(ctx, call, record, notes, live, text, errorOutcome(spec, ended.error));
  }
  if ('error' in ended && ended.error instanceof BodyLost) {
    const text = unknownEffectText(spec.name, 'ended', ended.error.message);
    return leftBehind(ctx, call, record, notes, live, text, errorOutcome(spec, ended.error));
  }
  if ('error' in ended && ended.error instanceof EffectUnknown && spec.effect === 'unsafe')
    return { type: 'unknown', text: unknownEffectText(spec.name, ended.error.why) };
  if ('error' in ended) return settleLive(ctx, call, record, notes.in(errorOutcome(spec, ended.error)), notes);
  if (isInterruption(ended.output)) {
    await call.durable();
    return standing(await saveWait(ctx, intent, record, notes.waits(ended.output)));
  }
  return settleLive(ctx, call, record, notes.in(outputOf(spec, ended.output)), notes);
}

/** The body did not end, and may go on. That an unsafe effect has not happened yet is no answer here. */
async function leftBehind(
  ctx: StepContext,
  call: ToolCall,
  record: CallRecord | null,
  notes: CallNotes,
  context: ToolContext,
  unknown: string,
  outcome: CallOutcome,
): Promise<ToolResult> {
  const { spec } = call;
  if (spec.effect !== 'unsafe' || spec.onUnknownEffect === 'rerun')
    return settleLive(ctx, call, record, notes.in(outcome), notes);
  const found = await probe(spec, call.input, context);
  if (found.happened === true) return settle(ctx, call, notes.in(outputOf(spec, found.output)), notes);
  return { type: 'unknown', text: unknown };
}

/** What the probe of a call found out; null: it did not happen, so that it may be executed. */
async function lookedFor(ctx: StepContext, call: ToolCall, context: ToolContext): Promise<ToolResult | null> {
  const found = await probe(call.spec, call.input, context);
  if (found.happened === 'unknown') return { type: 'unknown', text: unknownEffectText(call.spec.name, 'crash') };
  return found.happened ? settle(ctx, call, outputOf(call.spec, found.output)) : null;
}

/** `origin`: the run that began the call, by whose id the call is known to the world. */
const contextOf = (
  ctx: StepContext,
  call: ToolCall,
  { notes, origin, record }: { readonly notes: CallNotes; readonly origin: string; readonly record: CallRecord | null },
  signal: AbortSignal,
  environment: ToolContext['environment'],
): ToolContext => ({
  runId: call.intent.runId,
  callId: call.intent.callId,
  tenant: call.intent.tenant,
  agent: call.agent,
  idempotencyKey: `${origin}:${call.intent.callId}`,
  signal,
  now: notes.now,
  logicalTime: call.position,
  state: notes.state,
  memory: memoryOfCall(ctx, call, { key: `${origin}:${call.intent.callId}`, waits: record?.waits ?? 0 }, notes),
  random: seededRandom(`${origin}:${call.intent.callId}`),
  require: call.require,
  environment,
});

/** An approval to run it again makes its commands other ones than those whose end no one knows. */
function environmentOf(ctx: StepContext, call: ToolCall, origin: string, signal: AbortSignal): WatchedEnvironment {
  const { runId, tenant, callId } = call.intent;
  if (call.environment === null) return unwatched(noEnvironment(`The agent ${call.agent}`));
  const key = executionKey(`${origin}:${callId}`, call.repeatApprovedBy);
  return watchedEnvironment(ctx, { runId, tenant, ...call.environment }, key, signal);
}

/** Who allowed a call in another run, where no one has in this one; null: no one has to be asked. */
export const elsewhereOf = (
  { repeatApprovedBy, allowedElsewhere }: ToolCall,
  record: CallRecord | null,
): AllowedElsewhere | null => (repeatApprovedBy === null ? (record?.approvedIn ?? allowedElsewhere) : null);

/**
 * What comes of a call that only people of another run have allowed, in place of executing it: someone is asked. What it waited
 * for and has come by now is kept, so that it goes on under that when it may. Null: it may be executed.
 */
export async function askedAgain(
  ctx: StepContext,
  call: ToolCall,
  record: CallRecord | null,
  goesOn: Continuation | null,
): Promise<ToolResult | null> {
  const elsewhere = elsewhereOf(call, record);
  // The result of a run below is only read: nothing is executed.
  if (elsewhere === null || goesOn?.settlement.type === 'child_ended') return null;
  if (goesOn !== null) await withDatabaseRetry(() => saveSettlement(ctx.knex, call.intent, goesOn));
  return { type: 'unknown', text: begunElsewhereText(call.spec.name, elsewhere) };
}

/** Whether a call waits for an answer that was given in another run: it is asked for again, where the tool would go on with it. */
export const answeredElsewhere = (call: ToolCall, goesOn: Continuation | null): boolean =>
  call.allowedElsewhere !== null && goesOn !== null && call.spec.resume !== null;
