import type { Knex } from 'knex';
import { HoldfastError } from '../../core/errors/errors.js';
import type { Integrity } from '../../core/integrity.js';
import {
  type ApprovalExtras,
  assertSeparate,
  type Choice,
  judgeDecision,
  NO_EXTRAS,
} from '../../core/interruptions/decision.js';
import type { DecisionRequest, InterruptionView } from '../../core/interruptions/interruption.js';
import { canonical, type JsonObject, type JsonValue, plainText, toJson } from '../../core/json.js';
import { nanosOf, usdOf } from '../../core/money.js';
import { falseInterruptions } from '../../storage/integrity/shown-rows.js';
import type { DecisionRow, InterruptionRow } from '../../storage/interruptions/interruption-rows.js';
import { interruptionViewOf, isPast, saidOnEach } from '../../storage/interruptions/interruptions.js';
import { requestersOf } from '../../storage/log/read-events.js';
import type { RunRow } from '../../storage/runs/run-row.js';
import type { EngineContext } from '../engine-context.js';
import { assertFits, assertRunsNow, judgeExtras } from './approval-terms.js';

/** A decision that may be made, and what making it does. */
export interface Judged {
  readonly choice: Choice;
  /** As `judgeDecision` gives it. */
  readonly effect: 'settle' | 'vote' | 'same';
  readonly extras: ApprovalExtras;
  readonly before: InterruptionView;
  readonly said: readonly DecisionRow[];
}

/** Says whether a decision may be made now. Throws what `decide` throws. Writes nothing. */
export async function judgeRequest(
  context: EngineContext,
  trx: Knex.Transaction,
  { run, row }: { readonly run: RunRow; readonly row: InterruptionRow },
  request: DecisionRequest,
  actor: string,
): Promise<Judged> {
  const choice = choiceOf(row, request);
  const said = await saidOnEach(trx, [row]);
  assertAsLogged(row, (await falseInterruptions(trx, [row], said, 'whole')).get(row.id) ?? []);
  const before = interruptionViewOf(row, said);
  if (row.status === 'pending' && isPast(row, context.stepContext.now()))
    throw new HoldfastError(
      'interruption_expired',
      `The time to decide on interruption ${row.id} was over at ${before.expiresAt}.`,
    );
  const effect = judgeDecision(before, request.digest, choice, actor);
  if (effect === 'same') return { choice, effect, extras: NO_EXTRAS, before, said };
  const { verdict, value } = choice;
  const agents = await context.versions.agentsOf(run, trx);
  if (verdict === 'answer') assertFits(agents, run.agent, row, value);
  if (before.separateRequester) assertSeparate(before, verdict, actor, await requestersOf(trx, run.id));
  if (verdict === 'approve') assertRunsNow(agents, run, row, choice.arguments !== null);
  return { choice, effect, extras: judgeExtras(agents, run, row, choice, actor), before, said };
}

/** Throws `row_changed`: what someone has changed in the database no one decides. */
function assertAsLogged({ id, run_id: runId }: InterruptionRow, [first]: Integrity): void {
  if (first === undefined) return;
  const { table, row, column, what } = first;
  const where = `${column === null ? '' : `${column} of `}the row ${row} of ${table}`;
  throw new HoldfastError('row_changed', `Interruption ${id} of run ${runId} cannot be decided: ${where}: ${what}.`);
}

/** A request with everything that it may leave out. The arguments of the call itself are no edit. */
function choiceOf(row: InterruptionRow, request: DecisionRequest): Choice {
  const args = request.verdict === 'approve' ? argumentsOf(request.arguments) : null;
  return {
    verdict: request.verdict,
    message: request.message === undefined ? null : plainText(request.message),
    value: saidValue(row, request),
    arguments: args === null || canonical(args) === row.arguments ? null : args,
    always: (request.verdict === 'approve' ? request.always : undefined) ?? null,
  };
}

/** What an answer says, or how far an approval raises a budget. */
function saidValue(row: InterruptionRow, request: DecisionRequest): JsonValue {
  if (request.verdict === 'answer') return toJson(request.value);
  if (request.verdict !== 'approve' || request.budget === undefined) return null;
  if (row.kind === 'budget') return { limitUsd: usdOf(nanosOf(request.budget.usd)) };
  const detail = `interruption ${row.id} is about no budget`;
  throw new HoldfastError('invalid_request', `/budget: ${detail}.`, { fields: [{ pointer: '/budget', detail }] });
}

function argumentsOf(given: JsonObject | undefined): JsonObject | null {
  const args = toJson(given);
  if (given === undefined || args === null) return null;
  if (typeof args === 'object' && !Array.isArray(args)) return args as JsonObject;
  throw new HoldfastError('invalid_request', '/arguments: a JSON object was expected.', {
    fields: [{ pointer: '/arguments', detail: 'a JSON object was expected' }],
  });
}
