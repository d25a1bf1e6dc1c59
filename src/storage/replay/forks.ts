import type { Knex } from 'knex';
import { HoldfastError } from '../../core/errors/errors.js';
import { argumentEdit } from '../../core/interruptions/interruption.js';
import type { Settlement } from '../../core/interruptions/settlement.js';
import type { AllowedElsewhere } from '../../core/interruptions/standing.js';
import { type CallWait, callWait, placedWait } from '../../core/interruptions/wait.js';
import { canonical, sha256 } from '../../core/json.js';
import {
  asAskedFor,
  type BegunCall,
  type BegunWait,
  type LaterOutcome,
  waitsForChild,
} from '../../core/replay/begun-calls.js';
import type { Rebinding } from '../../core/replay/rebinding.js';
import { isOver } from '../../core/runs/run.js';
import { readJson } from '../database/stored-json.js';
import { breathe } from '../database/timing.js';
import { runs } from '../runs/runs.js';

/** A statement takes 65,535 values. */
const ROWS_AT_ONCE = 500;

interface Row {
  readonly [column: string]: unknown;
}

const text = (value: unknown): string => String(value);

/**
 * Gives a fork the decided interruptions of its source under ids of its own, as what was decided in another run. `segment`: the
 * one that the fork begins with, which applies whatever was not applied before.
 */
export async function copyInterruptions(
  trx: Knex.Transaction,
  { from, ...to }: { readonly from: string; readonly runId: string; readonly segment: number },
  { ids, digests }: Rebinding,
  decided: readonly string[],
): Promise<void> {
  const idOf = (row: Row, column: string): string => ids.get(text(row[column])) ?? text(row[column]);
  const rows: Row[] = decided.length === 0 ? [] : await trx('holdfast.interruptions').whereIn('id', decided);
  if (rows.length === 0) return;
  await trx('holdfast.interruptions').insert(
    rows.map((row) => ({
      ...row,
      id: idOf(row, 'id'),
      run_id: to.runId,
      segment: Math.min(Number(row['segment']), to.segment),
      digest: digests.get(text(row['digest'])) ?? row['digest'],
      origin_run_id: row['origin_run_id'] ?? from,
    })),
  );
  const decisions: Row[] = await trx('holdfast.decisions').whereIn('interruption_id', decided);
  await trx('holdfast.decisions').insert(
    decisions.map((row) => ({
      ...row,
      id: text(row['id']).replace(text(row['interruption_id']), idOf(row, 'interruption_id')),
      interruption_id: idOf(row, 'interruption_id'),
      run_id: to.runId,
      edit: row['edit'] === null ? null : editWithDigest(digests, row),
    })),
  );
}

function editWithDigest(digests: ReadonlyMap<string, string>, row: Row): string {
  const edit = readJson(argumentEdit, text(row['edit']), cell('decisions', row, 'edit'));
  return canonical({ ...edit, digest: digests.get(edit.digest) ?? edit.digest });
}

/**
 * Gives a fork the standing decisions that were made in what it takes over, as history: what was not revoked by then is revoked
 * with its begin.
 */
export async function copyStanding(
  trx: Knex.Transaction,
  runId: string,
  { ids }: Rebinding,
  {
    made,
    revoked,
    by,
  }: { readonly made: readonly string[]; readonly revoked: ReadonlySet<string>; readonly by: string },
): Promise<void> {
  const rows: Row[] = made.length === 0 ? [] : await trx('holdfast.standing_decisions').whereIn('id', made);
  if (rows.length === 0) return;
  const idOf = (id: string): string => ids.get(id) ?? id;
  await trx('holdfast.standing_decisions').insert(
    rows.map((row) => ({
      ...row,
      id: idOf(text(row['id'])),
      run_id: runId,
      interruption_id: idOf(text(row['interruption_id'])),
      ...(revoked.has(text(row['id'])) ? {} : { revoked_at: trx.fn.now(), revoked_by: by }),
    })),
  );
}

/**
 * Gives a fork what its source knows of calls that were begun: those that have ended are not executed again, and of those
 * that have not no one knows whether they happened. One that came to wait in the segment which the fork executes again waits
 * in the fork, whatever came of it in the source. The outcomes of `begun` are those of the fork's log, which may be edited.
 * Throws `fork_invalid` where a call waits for a run of its own that is not over.
 */
export async function copyCalls(
  trx: Knex.Transaction,
  { from, to, tenant }: { readonly from: string; readonly to: string; readonly tenant: string },
  digests: ReadonlyMap<string, string>,
  begun: ReadonlyMap<string, BegunCall>,
): Promise<void> {
  if (begun.size === 0) return;
  const rows: Row[] = await trx('holdfast.calls')
    .where({ run_id: from })
    .whereRaw('call_id = any(?)', [[...begun.keys()]]);
  const known = new Map(rows.map((row) => [text(row['call_id']), row]));
  const asked = await waitsById(trx, begun);
  const copies = [...begun].map(([callId, { call, outcome, wait, by, later }]): Row => {
    // Calls that may be repeated have a row only when they have ended.
    const row: Row = {
      ...(known.get(callId) ?? { worker: 'fork', epoch: 0, outcome: null, origin_run_id: null }),
      ...{ call_id: callId, tenant, tool: call.tool, tool_version: call.toolVersion, effect: call.effect },
    };
    if (outcome === null) assertAsLogged(from, row, later);
    return {
      ...(outcome === null ? unsettled(row, wait, asked) : { ...row, outcome: canonical(outcome) }),
      run_id: to,
      digest: digests.get(call.digest) ?? call.digest,
      execution: `fork of ${from}`,
      approved_in:
        by.length === 0
          ? null
          : (row['approved_in'] ?? canonical({ runId: from, by: [...by] } satisfies AllowedElsewhere)),
      origin_run_id: row['origin_run_id'] ?? from,
    };
  });
  await assertChildrenOver(trx, copies);
  for (let from = 0; from < copies.length; from += ROWS_AT_ONCE) {
    await breathe();
    await trx('holdfast.calls').insert(copies.slice(from, from + ROWS_AT_ONCE));
  }
}

/** Refuses an outcome that the log of the source contradicts. Throws `row_changed`. */
function assertAsLogged(runId: string, row: Row, later: LaterOutcome | null): void {
  const outcome = row['outcome'];
  if (outcome === null || later === null || later.includes(sha256(text(outcome)))) return;
  throw new HoldfastError(
    'row_changed',
    `outcome of the row ${text(row['call_id'])} of calls of run ${runId} is not what the log of the run says. Nothing was forked.`,
  );
}

/** The row of a call is named by its call. */
const cell = (table: string, row: Row, column: string) => ({
  ...{ table, row: text(row[table === 'calls' ? 'call_id' : 'id']), column },
});

const waitingOf = (row: Row): CallWait | null =>
  row['waiting'] == null ? null : readJson(callWait, text(row['waiting']), cell('calls', row, 'waiting'));

async function assertChildrenOver(trx: Knex.Transaction, calls: readonly Row[]): Promise<void> {
  for (const row of calls) {
    const spec = row['outcome'] === null ? waitingOf(row)?.spec : undefined;
    if (spec?.kind !== 'child_run') continue;
    const child = await runs(trx).where({ id: spec.runId }).first('status');
    if (child === undefined || !isOver(child.status)) throw waitsForChild(text(row['call_id']), spec.runId);
  }
}

/** The interruptions that made calls wait. */
async function waitsById(
  trx: Knex.Transaction,
  begun: ReadonlyMap<string, BegunCall>,
): Promise<ReadonlyMap<string, Row>> {
  const ids = [...begun.values()].flatMap(({ wait }) => (wait === null ? [] : [wait.interruptionId]));
  const rows: Row[] = ids.length === 0 ? [] : await trx('holdfast.interruptions').whereIn('id', ids);
  return new Map(rows.map((row) => [text(row['id']), row]));
}

/** A call without an outcome in the fork's log. */
function unsettled(row: Row, wait: BegunWait | null, asked: ReadonlyMap<string, Row>): Row {
  const waiting = waitingOf(row);
  const interruption = wait === null ? undefined : asked.get(wait.interruptionId);
  if (wait === null || interruption === undefined) return row;
  const placed = readJson(placedWait, text(interruption['wait']), cell('interruptions', interruption, 'wait'));
  const dueAt = placed.spec.kind === 'timer' ? (interruption['expires_at'] as Date).toISOString() : null;
  // Written by `claimCall` alone.
  const resumed = row['resumed'] == null ? null : (JSON.parse(text(row['resumed'])) as Settlement);
  const { expiresInMs } = wait;
  const again = asAskedFor({ waits: Number(row['waits']), waiting, resumed }, { ...placed, dueAt, expiresInMs });
  const stored = again === null ? null : canonical(again);
  return { ...row, outcome: null, finished_at: null, resumed: null, waits: placed.ordinal, waiting: stored };
}
