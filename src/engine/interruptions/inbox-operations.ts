import type { Knex } from 'knex';
import type { Caller } from '../../core/caller.js';
import { differenceOf } from '../../core/difference.js';
import { HoldfastError } from '../../core/errors/errors.js';
import {
  type DecisionCheck,
  type InterruptionContext,
  type InterruptionCounts,
  lastTurns,
  previewOf,
} from '../../core/interruptions/context.js';
import type { ApproveRequest } from '../../core/interruptions/interruption.js';
import { isObject, type JsonObject } from '../../core/json.js';
import { timeOrNull } from '../../storage/database/legible-rows.js';
import { atOneMoment } from '../../storage/database/transactions.js';
import { falseInterruptions } from '../../storage/integrity/shown-rows.js';
import type { InterruptionRow } from '../../storage/interruptions/interruption-rows.js';
import {
  argumentsOf,
  capabilitiesOf,
  countWaiting,
  decisionsOf,
  findInterruption,
  interruptionViewOf,
  lastDecidedAbout,
} from '../../storage/interruptions/interruptions.js';
import { readEventsBefore, requestersOf, seqOf } from '../../storage/log/read-events.js';
import { inputOf, type RunRow } from '../../storage/runs/run-row.js';
import { readRun } from '../../storage/runs/runs.js';
import { toolSpecOf } from '../../tools/define/define-tool.js';
import { toolNamed } from '../agents/tool-named.js';
import { allowanceOfRequest, type EngineContext } from '../engine-context.js';
import { beginningOf, listedOf } from '../runs/read-runs.js';
import { checksFor, jsonSchemaOf } from './approval-terms.js';
import { unknownInterruption } from './interruption-operations.js';
import { judgeRequest } from './judge-request.js';

/** How many events before an interruption are looked at for its story. */
const STORY_EVENTS = 100;
const BEFORE_MOST = 5;

export async function countInterruptions(
  { stepContext: { knex } }: EngineContext,
  { tenant, actor }: Caller,
): Promise<InterruptionCounts> {
  const { oldestRequestedAt, ...counts } = await countWaiting(knex, tenant, actor);
  const lists = { byKind: [...counts.byKind], byAgent: [...counts.byAgent], byTool: [...counts.byTool] };
  return { ...counts, ...lists, oldestRequestedAt: timeOrNull(oldestRequestedAt) };
}

/** Throws `interruption_unknown`. */
async function found(
  trx: Knex.Transaction,
  id: string,
  tenant: string,
): Promise<{ readonly row: InterruptionRow; readonly run: RunRow }> {
  const row = await findInterruption(trx, tenant, id);
  const run = row && (await readRun(trx, row.run_id));
  if (row === undefined || run === undefined) throw unknownInterruption(id);
  return { row, run };
}

export const getInterruptionContext = (
  context: EngineContext,
  id: string,
  { tenant }: Caller,
): Promise<InterruptionContext> =>
  atOneMoment(context.stepContext.knex, async (trx) => {
    const { row, run } = await found(trx, id, tenant);
    const before = await decidedBefore(trx, row);
    const { tool, checks, notes } = toolFacts(await context.versions.agentsOf(run, trx), run, row, before.length);
    const at = await seqOf(trx, row.run_id, `interruption:${id}`);
    const { rows: events } = await readEventsBefore(trx, row.run_id, { before: at, limit: STORY_EVENTS });
    const [view] = await listedOf(trx, [{ ...run, input_cut: false, output_cut: false }]);
    if (view === undefined) throw unknownInterruption(id);
    return {
      ...{ tool, checks, notes, before },
      story: lastTurns(events.toReversed(), beginningOf),
      run: {
        ...{ id: view.id, agent: view.agent, agentVersion: view.agentVersion, status: view.status },
        ...{ turns: view.turns, totalTokens: view.usage.totalTokens, costUsd: view.costUsd, createdAt: view.createdAt },
        input: previewOf(inputOf(run), beginningOf),
        startedBy: [...(await requestersOf(trx, run.id))],
      },
    };
  });

/** What is known of the tool of a call now, and what of it is worth a look. */
function toolFacts(
  agents: EngineContext['agents'],
  run: RunRow,
  row: InterruptionRow,
  before: number,
): Pick<InterruptionContext, 'tool' | 'checks' | 'notes'> {
  if (row.kind !== 'approval' || row.tool === null) return { tool: null, checks: [], notes: [] };
  const firstTime =
    before === 0
      ? [{ kind: 'first_time' as const, detail: `No call of ${row.tool} was decided before in this tenant.` }]
      : [];
  const tool = toolNamed({ agents }, { runAgent: run.agent, agent: row.agent, tool: row.tool });
  if (tool === undefined) return { tool: null, checks: [], notes: firstTime };
  const { name, version, description, effect } = toolSpecOf(tool);
  const detail = `It was asked for with version ${row.tool_version} of ${name}; this server has version ${version}.`;
  return {
    tool: { name, version, description, effect, input: jsonSchemaOf(tool) },
    checks: checksFor(run, shownArguments(row), tool),
    notes: [...firstTime, ...(version === row.tool_version ? [] : [{ kind: 'changed_since_asked' as const, detail }])],
  };
}

/** Written by the engine from arguments that the tool has parsed. */
const shownArguments = (row: InterruptionRow): JsonObject => {
  const args = argumentsOf(row);
  return isObject(args) ? args : {};
};

async function decidedBefore(trx: Knex.Transaction, row: InterruptionRow): Promise<InterruptionContext['before']> {
  if (row.kind !== 'approval' || row.tool === null) return [];
  const { id, tenant, tool } = row;
  const rows = (await lastDecidedAbout(trx, { tenant, tool, limit: BEFORE_MOST + 1 }))
    .filter((one) => one.id !== id)
    .slice(0, BEFORE_MOST);
  const decisions = await decisionsOf(
    trx,
    rows.map((one) => one.id),
  );
  // What someone has changed in the database is no example.
  const seen = await falseInterruptions(trx, rows, decisions, 'short');
  return rows
    .filter((one) => seen.get(one.id)?.length === 0)
    .map((one) => {
      const view = interruptionViewOf(one, decisions);
      const last = view.decisions.at(-1);
      return {
        ...{ id: view.id, runId: view.runId, status: view.status },
        ...{ actor: last?.actor ?? null, message: last?.message ?? null, difference: last?.edit?.difference ?? null },
        arguments: previewOf(view.arguments, beginningOf),
        decidedAt: last?.decidedAt ?? timeOrNull(one.settled_at) ?? view.requestedAt,
      };
    });
}

export const checkApproval = (
  context: EngineContext,
  id: string,
  request: ApproveRequest,
  { tenant, actor }: Caller,
): Promise<DecisionCheck> =>
  atOneMoment(context.stepContext.knex, async (trx) => {
    const { row, run } = await found(trx, id, tenant);
    const args = request.arguments ?? shownArguments(row);
    const difference = differenceOf(shownArguments(row), args, allowanceOfRequest());
    const agents = await context.versions.agentsOf(run, trx);
    const tool = toolNamed({ agents }, { runAgent: run.agent, agent: row.agent, tool: row.tool ?? '' });
    const capabilities = request.arguments === undefined ? capabilitiesOf(row) : [];
    const needs = tool === undefined ? capabilities : checksFor(run, args, tool).map(({ capability }) => capability);
    const common = { difference, capabilities: [...needs] };
    try {
      const { effect } = await judgeRequest(context, trx, { run, row }, { verdict: 'approve', ...request }, actor);
      return { ok: true, errors: [], ...common, settles: effect === 'settle' };
    } catch (error) {
      if (!(error instanceof HoldfastError) || error.code === 'payload_too_large') throw error;
      const { code, message, fields } = error;
      const errors =
        fields.length === 0 ? [{ code, pointer: '', detail: message }] : fields.map((one) => ({ code, ...one }));
      return { ok: false, errors, ...common, settles: false };
    }
  });
