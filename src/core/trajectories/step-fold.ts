import { z } from 'zod';
import type { ChargeView } from '../budgets/charge.js';
import { withChanges } from '../containers/workspace-changes.js';
import { sha256 } from '../json.js';
import type { CallOutcome } from '../log/call-outcome.js';
import type { EventData, ToldEvent } from '../log/event.js';
import { NO_USAGE, type Usage } from '../runs/run.js';
import {
  exitCodeAfter,
  type SeenEnvironment,
  said,
  shownEnvironment,
  type TrajectoryCall,
  type TrajectoryStep,
} from './trajectory-step.js';

type Files = TrajectoryStep['state']['files'];

/** A step names the files that were written last, at most so many. */
const FILES_MAX = 100;

/** What `write_file` takes and gives. */
const asked = z.object({ path: z.string(), content: z.string() });
const wrote = z.object({ sizeBytes: z.int() });

/** The files that a run has written, after one more call of it has ended; the one that was written last is the last. */
function withWritten(files: Files, call: TrajectoryCall | undefined, outcome: CallOutcome): Files {
  if (call?.tool !== 'write_file' || outcome.type !== 'output') return files;
  const [{ data: file }, { data: written }] = [asked.safeParse(call.arguments), wrote.safeParse(outcome.output)];
  // A tool of someone else may have the same name.
  if (file === undefined || written?.sizeBytes !== Buffer.byteLength(file.content)) return files;
  const { path, content } = file;
  return [...files.filter((one) => one.path !== path), { path, digest: sha256(content) }].slice(-FILES_MAX);
}

/** An event of a log, and who wrote it, which is no part of it. */
export type LoggedEvent = ToldEvent & { readonly worker?: string | null };

/** What the attempts of a turn cost. */
export type ChargesOfTurn = (turn: number) => readonly ChargeView[];

interface StepFold {
  /** Takes the next event. Gives the steps that nothing later belongs to any more, in order. */
  push(event: LoggedEvent): readonly TrajectoryStep[];
  /** Gives the steps that are left. The last one of a run that is over is `done`, and has its reward. */
  finish(end: { readonly over: boolean; readonly reward: number | null }): readonly TrajectoryStep[];
}

interface Open {
  readonly step: TrajectoryStep;
  /** Calls that have no outcome yet. A call of an agent as a tool has the steps of that agent before its outcome. */
  readonly waiting: Set<string>;
}

interface Requested {
  readonly event: LoggedEvent;
  readonly data: EventData<'model.requested'>;
  readonly files: TrajectoryStep['state']['files'];
  readonly environment: ReturnType<typeof shownEnvironment>;
}

const callOf = (data: EventData<'call.checked'>): TrajectoryCall => ({
  callId: data.callId,
  tool: data.tool,
  arguments: data.arguments,
  decision: data.decision,
  checks: data.checks,
});

const silent = ({ agent, model }: { readonly agent: string; readonly model: string }): TrajectoryStep['action'] => ({
  ...{ type: 'none', agent, model, text: null, reasoning: null, calls: [] },
});

function answered(answer: EventData<'model.responded'>): TrajectoryStep['action'] {
  const { agent, model, output, route, finishReason } = answer;
  const [text, reasoning] = [said(output, 'message'), said(output, 'reasoning')];
  const chosen = { ...(route && { route }), ...(finishReason === undefined ? {} : { finishReason }) };
  return { type: 'message', agent, model, ...chosen, text, reasoning, calls: [] };
}

/** The attempt that gave the answer is the last one that used what the answer says. */
function partsOf(
  charges: readonly ChargeView[],
  { inputTokens, outputTokens }: Usage,
): TrajectoryStep['info']['tokens'] {
  const used = charges.findLast(
    (charge) => charge.usage?.inputTokens === inputTokens && charge.usage.outputTokens === outputTokens,
  )?.usage;
  if (used == null) return null;
  const { cachedInputTokens, cacheWriteTokens, reasoningTokens } = used;
  return { cachedInputTokens, cacheWriteTokens, reasoningTokens };
}

const isAnswer = ({ kind }: LoggedEvent): boolean => kind === 'model.responded' || kind === 'model.failed';

/** Folds a log into steps as it comes. What was erased of it is left out. */
export function stepFold(chargesOf: ChargesOfTurn, seen: SeenEnvironment | null): StepFold {
  const open: Open[] = [];
  /** The step of each call that may still be heard of. */
  const ownerOf = new Map<string, Open>();
  let steps = 0;
  let copiedUpTo = 0;
  let requested: Requested | null = null;
  let files: TrajectoryStep['state']['files'] = [];
  let exitCode: number | null = null;
  let soFar: number | null = null;
  let last: LoggedEvent | null = null;

  /** A step as it begins; `event` is the answer of the model, or what tells that there is none. */
  const begin = (
    event: LoggedEvent,
    turn: number,
    action: TrajectoryStep['action'],
    info: Partial<TrajectoryStep['info']>,
  ) => {
    const from = requested?.event ?? event;
    const charges = chargesOf(turn);
    const used = info.usage ?? NO_USAGE;
    steps += 1;
    const step: TrajectoryStep = {
      step: steps,
      copied: event.seq <= copiedUpTo,
      state: {
        hash: from.stateHashBefore,
        version: from.stateVersion - 1,
        inputItems: requested?.data.inputItems ?? 0,
        ...(requested?.environment ?? shownEnvironment(seen, exitCode)),
        files: requested?.files ?? files,
      },
      action,
      observation: [],
      reward: null,
      rewardSoFar: null,
      done: false,
      info: {
        error: null,
        costUsd: null,
        ...info,
        usage: used,
        tokens: partsOf(charges, used),
        attempts: charges.length,
        latencyMs: requested === null || !isAnswer(event) ? null : Date.parse(event.at) - Date.parse(from.at),
        worker: event.worker ?? null,
        events: { from: from.seq, to: event.seq },
        startedAt: from.at,
        endedAt: event.at,
        durationMs: Date.parse(event.at) - Date.parse(from.at),
      },
    };
    requested = null;
    const one = { step, waiting: new Set<string>() };
    open.push(one);
    return one;
  };

  const check = (data: EventData<'call.checked'>): Open | undefined => {
    const owner = ownerOf.get(data.callId) ?? open.at(-1);
    if (owner === undefined) return undefined;
    const { action } = owner.step;
    // Judged again after a decision, it keeps its place in the model's order.
    const at = action.calls.findIndex(({ callId }) => callId === data.callId);
    const before = action.calls[at];
    action.calls =
      before === undefined ? [...action.calls, callOf(data)] : action.calls.with(at, { ...before, ...callOf(data) });
    if (before === undefined) owner.waiting.add(data.callId);
    action.type = 'tool';
    ownerOf.set(data.callId, owner);
    return owner;
  };

  const finishCall = ({ callId, outcome, step, workspace }: EventData<'call.finished'>): Open | undefined => {
    const owner = ownerOf.get(callId) ?? open.at(-1);
    const call = owner?.step.action.calls.find((one) => one.callId === callId);
    files = withWritten(files, call, outcome);
    if (workspace !== undefined) files = withChanges(files, workspace, FILES_MAX);
    exitCode = exitCodeAfter(exitCode, seen, outcome, step);
    owner?.step.observation.push({ callId, outcome, ...(step && { step }), ...(workspace && { workspace }) });
    if (owner !== undefined && step != null && step.reward !== null)
      owner.step.reward = (owner.step.reward ?? 0) + step.reward;
    owner?.waiting.delete(callId);
    return owner;
  };

  const startChild = ({ callId, childRunId }: EventData<'child.started'>): Open | undefined => {
    const owner = ownerOf.get(callId);
    if (owner === undefined) return undefined;
    const { action } = owner.step;
    action.calls = action.calls.map((call) => (call.callId === callId ? { ...call, childRunId } : call));
    return owner;
  };

  /** The step that an event belongs to; of those that begin one, it begins with it. */
  const stepOf = (event: LoggedEvent): Open | undefined => {
    switch (event.kind) {
      case 'run.forked':
        copiedUpTo = event.seq + (event.data as EventData<'run.forked'>).copied;
        return undefined;
      case 'model.requested':
        requested = {
          event,
          data: event.data as EventData<'model.requested'>,
          files,
          environment: shownEnvironment(seen, exitCode),
        };
        return undefined;
      case 'model.responded': {
        const data = event.data as EventData<'model.responded'>;
        return begin(event, data.turn, answered(data), { usage: data.usage, costUsd: data.cost?.usd ?? null });
      }
      case 'model.failed': {
        const data = event.data as EventData<'model.failed'>;
        return begin(event, data.turn, silent(data), { error: data.error });
      }
      case 'call.checked':
        return check(event.data as EventData<'call.checked'>);
      case 'child.started':
        return startChild(event.data as EventData<'child.started'>);
      case 'call.finished':
        return finishCall(event.data as EventData<'call.finished'>);
      default:
        return requested === null ? open.at(-1) : undefined;
    }
  };

  const take = (event: LoggedEvent): void => {
    const one = stepOf(event);
    if (one === undefined) return;
    one.step.info.events.to = event.seq;
    one.step.info.endedAt = event.at;
    one.step.info.durationMs = Date.parse(event.at) - Date.parse(one.step.info.startedAt);
  };

  const close = (one: Open): TrajectoryStep => {
    for (const { callId } of one.step.action.calls) ownerOf.delete(callId);
    if (one.step.reward !== null) soFar = (soFar ?? 0) + one.step.reward;
    one.step.rewardSoFar = soFar;
    return one.step;
  };

  /** The last step may still turn out to be the last of the run. */
  const whole = (): TrajectoryStep[] => {
    const done: TrajectoryStep[] = [];
    while (open.length > 1 && open[0]?.waiting.size === 0) done.push(...open.splice(0, 1).map(close));
    return done;
  };

  return {
    push: (event) => {
      last = event;
      if (event.data !== null) take(event);
      return whole();
    },
    finish: ({ over, reward }) => {
      if (over && requested !== null && last !== null) begin(last, requested.data.turn, silent(requested.data), {});
      const left = open.splice(0).map(close);
      const end = left.at(-1);
      if (over && end !== undefined)
        Object.assign(end, { done: true, ...(reward !== null && { reward, rewardSoFar: reward }) });
      return left;
    },
  };
}
