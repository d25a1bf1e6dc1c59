import type { Agent, RunState, RunToolApprovalItem } from '@openai/agents';
import { z } from 'zod';
import { HoldfastError } from '../../src/core/errors/errors.js';
import { elsewhereText, type Standing } from '../../src/core/interruptions/standing.js';
import { canonical, sha256 } from '../../src/core/json.js';
import { type CallOutcome, callOutcome, textOf } from '../../src/core/log/call-outcome.js';
import { textOfOutcome } from '../../src/core/plans/node-result.js';
import { knowsResult, rewriteArguments, rewriteResult } from '../../src/core/runs/rewrite-call.js';
import { eventsByKeys } from '../../src/storage/evidence/log-pages.js';
import { findReachableAgent } from '../../src/tools/define/reachable-agents.js';
import { withDatabaseRetry } from '../../steps/database-retry.js';
import type { SettledInterruption } from '../../steps/segment/begin-segment.js';
import { applyBudgetDecisions } from '../model-turn/model-budgets.js';
import { finishedItemCount, type PastItem, pastItem, trimmedHistory } from '../model-turn/trim-history.js';
import { runContextOf } from '../sdk/sdk-internals.js';
import { offeredTool, wrappedTools } from '../sdk/wrap-tool.js';
import type { AuthorizedCall, SegmentContext } from '../segment-context.js';
import { authorizeCall, withGuardrails } from '../tool-calls/authorize-calls.js';
import { awaitResult, startCalls } from '../tool-calls/run-calls.js';
import { givenTo } from '../tool-calls/tool-body.js';
import type { AskedCall } from '../tool-calls/tool-guardrails.js';
import { loggedItem } from './referred-payloads.js';
import { memoryIn, notedOf, ownIn, type ReadState, readState, stateOfText, suspendedIn } from './state-text.js';

const finished = z.object({ callId: z.string(), outcome: callOutcome });

/** Puts a result of the log back into an item of a stored state. Throws `state_unreadable`. */
async function withLogged(scope: SegmentContext, item: unknown): Promise<PastItem> {
  const { success, data } = loggedItem.safeParse(item);
  if (!success) return pastItem.parse(item);
  const { event: key, digest, rawItem, asText, ...rest } = data;
  const { knex } = scope.ctx;
  const { events } = await withDatabaseRetry(() => eventsByKeys(knex, scope.run.id, 0, [key]));
  const read = finished.safeParse(events[0]?.data);
  const given = read.success && read.data.callId === rawItem.callId ? givenTo(scope, read.data.outcome) : null;
  const text = textOf(given);
  if (sha256(text) !== digest)
    throw new HoldfastError(
      'state_unreadable',
      `The state refers to the result of the call ${rawItem.callId}, which the event ${key} of run ${scope.run.id} does not have.`,
    );
  scope.logged.set(rawItem.callId, { key, text, digest });
  return pastItem.parse({
    ...rest,
    type: 'tool_call_output_item',
    rawItem: { ...rawItem, output: { type: 'text', text } },
    output: asText ? text : given,
  });
}

type State = RunState<unknown, Agent>;

/** How many items of a state the log of earlier turns has. */
function seenIn({ source, turns }: SegmentContext, state: State): number {
  if (source.isBeforeTerms(turns + 1)) return trimmedHistory(state)?.shown.length ?? 0;
  return finishedItemCount(state);
}

/** Makes the state of a text that on which the loop works. */
async function load(scope: SegmentContext, agent: Agent, saved: string | ReadState): Promise<State> {
  return orUnreadable(agent, async () => {
    const read = typeof saved === 'string' ? await readState(saved) : saved;
    for (const { callId, event, digest } of notedOf(read.value))
      scope.logged.set(callId, { key: event, digest, text: null });
    const state = await stateOfText(agent, read, scope.parentCall === null, {
      input: scope.run.input,
      fill: (item) => withLogged(scope, item),
    });
    const context = runContextOf(state);
    if (scope.parentCall === null) {
      scope.context.adopt(context.context);
      scope.own.adopt(ownIn(read.value));
      scope.memory.adopt(memoryIn(read.value));
    }
    context.context = scope.context.value;
    scope.state = state;
    scope.seenItems = seenIn(scope, state);
    return state;
  });
}

async function orUnreadable<T>(agent: Agent, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof HoldfastError) throw error;
    const why = error instanceof Error ? error.message : String(error);
    throw new HoldfastError('state_unreadable', `The state of ${agent.name} cannot be read: ${why}`);
  }
}

/**
 * The state that an agent goes on from, with every decision applied: approved calls are judged again and will run, rejected
 * ones get what the model reads, calls that waited inside get their result, and agents behind tools go on with their work.
 */
export async function resumeState(scope: SegmentContext, agent: Agent, saved: string | ReadState): Promise<State> {
  const settled = scope.settled.filter((one) => !isAskedAgain(scope, one));
  const read = typeof saved === 'string' ? await orUnreadable(agent, () => readState(saved)) : saved;
  const { text, value } = withEdits(read, settled);
  let state = await load(scope, agent, { text, value });
  applyBudgetDecisions(scope);
  if (scope.stop !== null) return state;
  const gone = await settleInside(scope, agent, { text, value });
  if (gone !== text) state = await load(scope, agent, gone);
  // With a call that waits again nothing else may start: what was decided beside it is applied in the next segment.
  if (scope.stop === null) await applyApprovals(scope, state);
  return state;
}

/**
 * The state with the arguments that approvers put in place of the model's: the tool gets them, and the model reads them. A call
 * that the state does not know is one of an agent behind a tool, which has a state of its own.
 */
function withEdits(saved: ReadState, settled: readonly SettledInterruption[]): ReadState {
  const edits = settled.flatMap(({ callId, verdict, edit }) =>
    verdict === 'approve' && edit ? [{ callId, edit }] : [],
  );
  if (edits.length === 0) return saved;
  for (const { callId, edit } of edits) rewriteArguments(saved.value, callId, canonical(edit.arguments));
  return { text: JSON.stringify(saved.value), value: saved.value };
}

/** Whether a call that was approved in another run is to be asked for: what the recording does not have of it would be executed. */
const isAskedAgain = ({ source }: SegmentContext, one: SettledInterruption): boolean =>
  one.allowedElsewhere != null && !waitedInside(one) && !source.hasGoneOn(one.callId);

/** Whether the SDK has a placeholder for the result of the call: its body was begun. */
const waitedInside = (one: SettledInterruption): boolean => one.reason === 'unknown_effect' || one.wait !== null;

/** A call that was begun goes on: by a decision, or because its agent was suspended. */
type BegunCall = Pick<SettledInterruption, 'callId' | 'tool' | 'agent' | 'arguments'>;

/** Goes on with calls that were begun, one after the other, and puts their results into the state. */
async function settleInside(scope: SegmentContext, start: Agent, { text, value }: ReadState): Promise<string> {
  const inside = scope.settled.filter((one) => waitedInside(one) && knowsResult(value, one.callId));
  const suspended = suspendedIn(value);
  if (inside.length + suspended.length === 0) return text;
  // The state that works shares parts of the value.
  const { value: parsed } = await readState(text);
  for (const one of inside) {
    scope.applied.add(one.interruptionId);
    const standing = one.wait === null ? [] : scope.standing;
    await resumeCall(scope, start, parsed, one, standing, (judged) => settlementOf(judged, one));
  }
  for (const one of suspended) {
    if (scope.stop === null)
      await resumeCall(scope, start, parsed, one, [], () => ({
        decision: 'allow',
        approved: true,
        agentState: one.state,
      }));
    else scope.suspended.push(one);
  }
  return JSON.stringify(parsed);
}

async function resumeCall(
  scope: SegmentContext,
  start: Agent,
  parsed: unknown,
  one: BegunCall,
  standing: readonly Standing[],
  settlement: (judged: AuthorizedCall) => Partial<AuthorizedCall>,
): Promise<void> {
  const agent = findReachableAgent(start, one.agent);
  const tools = agent === undefined ? [] : await wrappedTools(agent);
  const wrapped = tools.findLast((tool) => tool.wrapped.spec.name === one.tool)?.wrapped;
  if (wrapped === undefined)
    throw new HoldfastError('run_failed', `The tool ${one.tool} is gone; the call ${one.callId} cannot be settled.`);
  const call: AskedCall = { callId: one.callId, name: one.tool, namespace: null, arguments: canonical(one.arguments) };
  const judged = authorizeCall(scope, one.agent, wrapped, call, false, standing);
  const authorized: AuthorizedCall = { ...judged, ...settlement(judged) };
  scope.authorizedCalls.set(authorized.callId, authorized);
  scope.batch = [authorized];
  startCalls(scope);
  const output = await awaitResult(scope, authorized.callId);
  rewriteResult(parsed, one.callId, output);
}

/** What a decision makes of a call that was begun. */
function settlementOf(judged: AuthorizedCall, one: SettledInterruption): Partial<AuthorizedCall> {
  if (judged.decision === 'deny' || judged.decision === 'invalid') return {};
  if (one.wait !== null) {
    const { wait, verdict, actor, message, value } = one;
    // It was begun, so that an approval that it needs was given.
    const approved = judged.decision === 'ask';
    const { allowedElsewhere = null } = one;
    return { decision: 'allow', approved, allowedElsewhere, waitDecision: { wait, verdict, actor, message, value } };
  }
  if (one.verdict === 'approve') {
    const allowedElsewhere = one.allowedElsewhere ?? null;
    const repeatApprovedBy = allowedElsewhere === null ? one.interruptionId : null;
    return { decision: 'allow', approved: true, repeatApprovedBy, allowedElsewhere };
  }
  return { decision: 'allow', known: outcomeOf(one) };
}

const outcomeOf = (one: SettledInterruption): CallOutcome => {
  if (one.verdict === 'answer') return { type: 'output', output: one.value };
  const message = one.message === null ? '' : ` ${one.message}`;
  return one.verdict === 'expire'
    ? {
        type: 'refused',
        why: 'expired',
        message: `No one decided in time. ${one.tool} was begun before and may have happened.`,
      }
    : {
        type: 'refused',
        why: 'rejected',
        message: `${one.tool} was begun before, may have happened, and is not run again.${message}`,
      };
};

/** Tells the SDK what was decided, and judges the approved calls again: the policy is the same, the decision is bound. */
async function applyApprovals(scope: SegmentContext, state: State): Promise<void> {
  const byCall = new Map(scope.settled.filter((one) => !waitedInside(one)).map((one) => [one.callId, one]));
  scope.batch = [];
  for (const item of state.getInterruptions()) {
    const call = callOf(item);
    const one = call === null ? undefined : byCall.get(call.callId);
    if (call === null || one === undefined) continue;
    scope.applied.add(one.interruptionId);
    if (one.verdict !== 'approve') {
      const outcome = rejectionOf(one);
      state.reject(item, { message: scope.run.isProgram ? textOfOutcome(outcome) : outcome.message });
      scope.log.add('call.finished', { callId: one.callId, tool: one.tool, outcome }, `decision:${one.interruptionId}`);
      continue;
    }
    const wrapped = offeredTool(await wrappedTools(item.agent), call);
    if (wrapped === undefined)
      throw new HoldfastError(
        'run_failed',
        `The tool ${call.name} is gone; its approved call ${call.callId} cannot run.`,
      );
    const judged = authorizeCall(scope, item.agent.name, wrapped, call, true, []);
    scope.authorizedCalls.set(judged.callId, judged);
    const allowedElsewhere = one.allowedElsewhere ?? null;
    if (allowedElsewhere !== null && judged.decision === 'ask' && isAskedAgain(scope, one)) {
      const text = `${judged.text} ${elsewhereText('approved', allowedElsewhere)}`;
      scope.authorizedCalls.set(judged.callId, { ...judged, text });
      continue;
    }
    // What was approved is not what would run now (another version or policy): it is asked for again.
    if (judged.digest !== (one.edit?.digest ?? one.digest) && judged.decision === 'ask') continue;
    const authorized: AuthorizedCall =
      judged.decision === 'ask' ? { ...judged, decision: 'allow', approved: true, allowedElsewhere } : judged;
    const checked = authorized.decision === 'allow' ? await withGuardrails(scope, authorized, call) : authorized;
    scope.authorizedCalls.set(checked.callId, checked);
    scope.batch.push(checked);
    state.approve(item);
  }
}

const rejectionOf = (one: SettledInterruption): Extract<CallOutcome, { type: 'refused' }> =>
  one.verdict === 'expire'
    ? { type: 'refused', why: 'expired', message: `${one.tool} was not executed: no one approved it in time.` }
    : { type: 'refused', why: 'rejected', message: one.message ?? `${one.tool} was not executed: it was rejected.` };

function callOf(item: RunToolApprovalItem): AskedCall | null {
  const { rawItem } = item;
  if (rawItem.type !== 'function_call') return null;
  return {
    callId: rawItem.callId,
    name: rawItem.name,
    namespace: rawItem.namespace ?? null,
    arguments: rawItem.arguments,
  };
}
