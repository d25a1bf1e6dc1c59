import type { Knex } from 'knex';
import { executeAgain } from '../../../steps/calls/execute-again.js';
import type { McpLists, StepContext } from '../../../steps/context.js';
import type { ReplayFindings } from '../../../workflows/replay/replay-findings.js';
import { replayLive } from '../../../workflows/replay/replay-live.js';
import { type ReplayedRun, type ReplayPlace, replayLog } from '../../../workflows/replay/replay-log.js';
import { budgetsFor } from '../../core/budgets/budget.js';
import type { Caller } from '../../core/caller.js';
import { HoldfastError } from '../../core/errors/errors.js';
import { fieldErrorsOf, invalidRequest } from '../../core/field-errors.js';
import type { GrantSet } from '../../core/grants/grants.js';
import { canonical } from '../../core/json.js';
import { EVENT_DATA } from '../../core/log/event.js';
import type { KeyedEvent } from '../../core/log/recording.js';
import { nanosOf } from '../../core/money.js';
import { type ReplayReport, type ReplayRequest, replayRequest } from '../../core/replay/replay.js';
import { UNMETERED } from '../../metrics/meter.js';
import { noDatabase } from '../../storage/database/database.js';
import { atOneMoment } from '../../storage/database/transactions.js';
import { pausedRunsOf } from '../../storage/evolution/agent-versions.js';
import { SignIndex } from '../../storage/memory/sign-index.js';
import { markTool, type ToolMark } from '../../storage/replay/tool-marks.js';
import { limitsOf, type RunRow } from '../../storage/runs/run-row.js';
import { McpConnections } from '../../tools/mcp/mcp-connections.js';
import type { RegisteredAgent } from '../agents/agent-registry.js';
import { agentNamed, type EngineContext } from '../engine-context.js';
import type { ReplayWaiting } from '../evolution/trial.js';
import { grantsToday, readForReplay, type StoredRun } from './replayed-run.js';

/** How calls of deterministic tools are executed again, and who hears of those that differ. */
interface Repeat {
  readonly now: () => number;
  /** Ends it between two calls, and gives one up that works. */
  readonly signal: AbortSignal;
  readonly found: (mark: ToolMark) => void;
}

/** Executes them one after the other, and holds what they give against the log. Returns how many were. Throws why it was given up. */
async function repeatCalls(
  { run, log }: Pick<ReplayedRun, 'run' | 'log'>,
  findings: ReplayFindings,
  { now, signal, found }: Repeat,
): Promise<number> {
  const edited = editedCalls(log);
  let executed = 0;
  for (const { call, outcome, key, seq } of findings.repeatable) {
    const { callId, spec } = call;
    if (edited.has(callId) || !findings.isLookedAt(seq)) continue;
    const again = await executeAgain(call, run, now, signal, outcome);
    signal.throwIfAborted();
    executed++;
    if (again === null) findings.leaveOut(`${spec.name} (${callId}), which gave nothing to compare within its time`);
    if (again === null || canonical(again) === canonical(outcome)) continue;
    const what = `call.finished of ${spec.name} (${callId}), executed again`;
    findings.add({ seq, key, what, field: '/outcome', expected: outcome, actual: again });
    found({ tool: spec.name, toolVersion: spec.version, runId: run.id, seq });
  }
  findings.sort();
  return executed;
}

/** Calls whose outcome someone has put in the place of what the tool gave. */
function editedCalls(log: readonly KeyedEvent[]): ReadonlySet<unknown> {
  const edits = log.flatMap(({ kind, data }) =>
    kind === 'run.forked' ? (EVENT_DATA['run.forked'].safeParse(data).data?.edits ?? []) : [],
  );
  return new Set(edits.map((edit) => edit['callId']));
}

const refused = (what: string): HoldfastError => new HoldfastError('internal', `A replay ${what}.`);

/** Servers that no one reaches. */
class NoConnections extends McpConnections {
  override list(): Promise<never> {
    return Promise.reject(refused('lists no tools of a server'));
  }

  override call(): Promise<never> {
    return Promise.reject(refused('calls no server'));
  }
}

/**
 * A world without effect: it has no database, no queue, no servers and no prices, so that what is executed in it can change
 * nothing, whatever it tries. `lists` is what it knows of servers.
 */
function replayPlace(agents: ReadonlyMap<string, RegisteredAgent>, lists: McpLists): ReplayPlace {
  const nothing = async (): Promise<never> => {
    throw refused('enqueues nothing');
  };
  const ctx: StepContext = {
    knex: noDatabase(),
    queue: { enqueue: nothing, takeHere: nothing, withdraw: nothing, remove: nothing, wake: () => undefined },
    worker: { id: 'replay', epoch: 0 },
    lease: { isHeld: async () => true, confirm: async () => true, covers: () => true },
    execution: () => null,
    ...{ now: () => 0, newId: () => 'replay', changed: () => undefined, stepsKeepOutcomes: () => false },
    ...{ prices: { priceOf: () => null }, budgets: { onExhausted: 'fail', outputTokens: 1 }, approvalTimeoutMs: null },
    ...{
      mcp: new NoConnections(),
      mcpLists: lists,
      exportDir: '',
      buckets: null,
      repositories: null,
      artifacts: null,
      leftBehind: nothing,
      environments: null,
    },
    ...{ rewards: new Map(), readSecrets: async () => [], crashLimit: 1, logStep: null },
    memory: { proven: nothing, falseIn: nothing, falseChanges: nothing, enterForgotten: nothing },
    embeddings: { embed: () => Promise.reject(refused('asks no embedding model')) },
    signs: new SignIndex(),
    metrics: UNMETERED,
  };
  return { ctx, agents };
}

/** The report on a run that cannot be replayed. */
const unreplayed = (report: Pick<ReplayReport, 'runId' | 'mode' | 'from'>, error: HoldfastError): ReplayReport => ({
  ...{ ...report, result: 'cannot_replay', events: 0, upTo: 0, whole: false, differences: [] },
  ...{ moreDifferences: 0, executed: 0, notCompared: [], live: null, reason: error.view() },
});

interface LiveRequest {
  readonly from: number | undefined;
  readonly executePure: boolean;
  /** Dollars. */
  readonly maxUsd: string | undefined;
  readonly signal: AbortSignal;
}

/**
 * Lets the agents of today work on the input of a run with their models, and with the results of its calls. Nothing is written, and nothing
 * charged. Throws `invalid_request` where budgets apply to the run and the request has no bound of its own, and the reason of the signal
 * when it fires.
 */
async function replayLiveModel(
  { stepContext, versions, models }: EngineContext,
  { replayed, lists, refused }: StoredRun,
  { from = 1, executePure, maxUsd, signal }: LiveRequest,
): Promise<ReplayReport> {
  const { run } = replayed;
  const report = { runId: run.id, mode: 'live_model', from } as const;
  if (refused !== null) return unreplayed(report, refused);
  if (maxUsd === undefined) assertUnbudgeted(stepContext, run);
  try {
    const agents = await versions.agentsOf(run);
    const grants = grantsToday(run, agentNamed({ agents }, run.agent));
    const place = replayPlace(agents, lists);
    const { now, prices } = stepContext;
    const budgets = { onExhausted: 'fail', outputTokens: stepContext.budgets.outputTokens } as const;
    const { findings, live, executed } = await replayLive(
      { ...place, ctx: { ...place.ctx, now, prices, budgets }, provider: models },
      { ...replayed, grants },
      { from, executePure, now, signal, maxNanos: maxUsd === undefined ? null : nanosOf(maxUsd) },
    );
    const { differences, more, events, upTo, notCompared, stoppedAt } = findings;
    return {
      ...{ ...report, result: differences.length === 0 ? 'same' : 'diverged', events, upTo },
      ...{ whole: stoppedAt === null, differences, moreDifferences: more, executed, notCompared: [...notCompared] },
      ...{ live, reason: null },
    };
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof HoldfastError)) throw error;
    return unreplayed(report, error);
  }
}

/** What a replay costs is charged to no run: where runs are bounded, it has a bound of its own. */
function assertUnbudgeted({ budgets }: EngineContext['stepContext'], run: RunRow): void {
  const { id, tenant, agent } = run;
  if (budgetsFor(budgets, { id, tenant, agent, budget: limitsOf(run).budget }).length === 0) return;
  const detail = 'is needed: budgets apply to the run, and a live replay is not charged to them';
  throw invalidRequest([{ pointer: '/maxUsd', detail }]);
}

/**
 * Executes the agents of today against the log of a run, with its answers or with those of models that are asked again. Changes nothing
 * but the marks of tools that were found not to be deterministic. Throws `run_unknown`, `run_erased`, `invalid_request`, and the reason of
 * the signal when it fires.
 */
export async function replayRun(
  context: EngineContext,
  id: string,
  request: ReplayRequest,
  { tenant }: Caller,
  signal: AbortSignal,
): Promise<ReplayReport> {
  const parsed = replayRequest.safeParse(request);
  if (!parsed.success) throw invalidRequest(fieldErrorsOf(parsed.error));
  const { stepContext } = context;
  const { from, executePure = false, liveModel = false, maxUsd } = parsed.data;
  if (maxUsd !== undefined && !liveModel)
    throw invalidRequest([{ pointer: '/maxUsd', detail: 'bounds a replay with liveModel' }]);
  const stored = await readStored(stepContext.knex, tenant, id, signal);
  const events = stored.replayed.log.at(-1)?.seq ?? 0;
  if (from !== undefined && from > events && stored.refused === null)
    throw invalidRequest([{ pointer: '/from', detail: `is beyond the log, which has ${events} events` }]);
  if (liveModel) return replayLiveModel(context, stored, { from, executePure, maxUsd, signal });
  const marks: ToolMark[] = [];
  const repeat = executePure ? { now: stepContext.now, signal, found: (mark: ToolMark) => marks.push(mark) } : null;
  const agents = await context.versions.agentsOf(stored.replayed.run);
  const report = await replayStored(agents, stored, grantsToday, { from, repeat, signal });
  for (const mark of marks) await markTool(stepContext.knex, tenant, mark);
  return report;
}

/** Reads a run and its log as of one moment, in a transaction that cannot write. */
export const readStored = (db: Knex, tenant: string, id: string, signal?: AbortSignal): Promise<StoredRun> =>
  atOneMoment(db, (trx) => readForReplay(trx, tenant, id, signal));

interface ReplayTerms {
  readonly from?: number | undefined;
  readonly repeat?: Repeat | null;
  readonly signal?: AbortSignal;
}

/** Replays what was read. `grantsOf` gives the grants that judge calls. */
export async function replayStored(
  agents: ReadonlyMap<string, RegisteredAgent>,
  stored: StoredRun,
  grantsOf: (run: RunRow, agent: RegisteredAgent) => GrantSet,
  { from = 1, repeat = null, signal }: ReplayTerms = {},
): Promise<ReplayReport> {
  const { replayed, lists, refused } = stored;
  const { run } = replayed;
  const report = { runId: run.id, mode: 'strict', from } as const;
  if (refused !== null) return unreplayed(report, refused);
  try {
    const grants = grantsOf(run, agentNamed({ agents }, run.agent));
    const findings = await replayLog(replayPlace(agents, lists), { ...replayed, grants }, from, signal);
    const executed = repeat === null ? 0 : await repeatCalls(stored.replayed, findings, repeat);
    const { differences, more, events, upTo, notCompared, stoppedAt } = findings;
    return {
      ...{ ...report, result: differences.length === 0 ? 'same' : 'diverged', events, upTo },
      ...{ whole: stoppedAt === null, differences, moreDifferences: more, executed, notCompared: [...notCompared] },
      ...{ live: null, reason: null },
    };
  } catch (error) {
    signal?.throwIfAborted();
    if (!(error instanceof HoldfastError)) throw error;
    return unreplayed(report, error);
  }
}

const REPLAYED_MOST = 20;

/** What replays of the newest paused runs say under a patched definition. */
export const replayWaiting: ReplayWaiting = async (context, patched, tenant, signal) => {
  const { knex } = context.stepContext;
  const agents = new Map([...context.agents, [patched.name, patched]]);
  const found = { replayed: 0, same: 0, differ: 0, refused: 0 };
  for (const id of await pausedRunsOf(knex, tenant, patched.name, REPLAYED_MOST)) {
    const { result } = await replayStored(agents, await readStored(knex, tenant, id, signal), grantsToday, { signal });
    found.replayed += 1;
    if (result === 'same') found.same += 1;
    else if (result === 'diverged') found.differ += 1;
    else found.refused += 1;
  }
  return found;
};
