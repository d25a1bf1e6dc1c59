import type { Knex } from 'knex';
import { replayLog } from '../../../workflows/replay/replay-log.js';
import type { Caller } from '../../core/caller.js';
import { HoldfastError } from '../../core/errors/errors.js';
import { fieldErrorsOf, invalidRequest } from '../../core/field-errors.js';
import type { GrantSet } from '../../core/grants/grants.js';
import { type ReplayReport, type ReplayRequest, replayRequest } from '../../core/replay/replay.js';
import { atOneMoment } from '../../storage/database/transactions.js';
import { markTool, type ToolMark } from '../../storage/replay/tool-marks.js';
import type { RunRow } from '../../storage/runs/run-row.js';
import type { RegisteredAgent } from '../agents/agent-registry.js';
import { agentNamed, type EngineContext } from '../engine-context.js';
import { type Repeat, repeatCalls } from './repeat-calls.js';
import { replayLiveModel } from './replay-live-model.js';
import { replayPlace } from './replay-place.js';
import { grantsToday, readForReplay, type StoredRun } from './replayed-run.js';
import { unreplayed } from './unreplayed.js';

/**
 * Executes the agents of today against the log of a run, with its answers or with those of models that are asked anew. Changes nothing
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
  const { stepContext, agents } = context;
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

/** Replays what was read. `grantsOf` says by which grants calls are judged. */
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
