import type { Knex } from 'knex';
import type { CallOutcome, EventData } from '../core/event.js';
import type { Rebinding } from '../core/fork.js';
import { argumentEdit } from '../core/interruption.js';
import { canonical } from '../core/json.js';

/** A call that the source began, as it was judged, with its outcome in the log. */
export interface BegunCall {
  readonly call: EventData<'call.checked'>;
  readonly outcome: CallOutcome | null;
}

interface Row {
  readonly [column: string]: unknown;
}

const text = (value: unknown): string => String(value);

/**
 * Gives a fork the decided interruptions of its source under ids of its own. `segment`: the one that the fork begins with,
 * which applies whatever was not applied before.
 */
export async function copyInterruptions(
  trx: Knex.Transaction,
  to: { readonly runId: string; readonly segment: number },
  { interruptions, digests }: Rebinding,
  ids: readonly string[],
): Promise<void> {
  const idOf = (row: Row, column: string): string => interruptions.get(text(row[column])) ?? text(row[column]);
  const rows: Row[] = ids.length === 0 ? [] : await trx('holdfast.interruptions').whereIn('id', ids);
  if (rows.length === 0) return;
  await trx('holdfast.interruptions').insert(
    rows.map((row) => ({
      ...row,
      id: idOf(row, 'id'),
      run_id: to.runId,
      segment: Math.min(Number(row['segment']), to.segment),
      digest: digests.get(text(row['digest'])) ?? row['digest'],
    })),
  );
  const decisions: Row[] = await trx('holdfast.decisions').whereIn('interruption_id', ids);
  await trx('holdfast.decisions').insert(
    decisions.map((row) => ({
      ...row,
      id: text(row['id']).replace(text(row['interruption_id']), idOf(row, 'interruption_id')),
      interruption_id: idOf(row, 'interruption_id'),
      run_id: to.runId,
      edit: row['edit'] === null ? null : editUnder(digests, text(row['edit'])),
    })),
  );
}

function editUnder(digests: ReadonlyMap<string, string>, stored: string): string {
  const edit = argumentEdit.parse(JSON.parse(stored));
  return canonical({ ...edit, digest: digests.get(edit.digest) ?? edit.digest });
}

/**
 * Gives a fork what its source knows of calls that were begun: those that have ended are not executed again, and of those
 * that have not nobody knows whether they happened. `outcomes` are those of the fork's log, which may be edited.
 */
export async function copyCalls(
  trx: Knex.Transaction,
  { from, to, tenant }: { readonly from: string; readonly to: string; readonly tenant: string },
  digests: ReadonlyMap<string, string>,
  begun: ReadonlyMap<string, BegunCall>,
): Promise<void> {
  const rows: Row[] = await trx('holdfast.calls')
    .where({ run_id: from })
    .whereIn('call_id', [...begun.keys()]);
  if (begun.size === 0) return;
  const known = new Map(rows.map((row) => [text(row['call_id']), row]));
  await trx('holdfast.calls').insert(
    [...begun].map(([callId, { call, outcome }]) => {
      // Calls that may be repeated have a row only when they have ended.
      const row = known.get(callId) ?? {
        ...{ call_id: callId, tenant, tool: call.tool, tool_version: call.toolVersion, effect: call.effect },
        ...{ digest: call.digest, worker: 'fork', epoch: 0, outcome: null, origin_run_id: null },
      };
      return {
        ...row,
        run_id: to,
        digest: digests.get(text(row['digest'])) ?? row['digest'],
        execution: `fork of ${from}`,
        outcome: outcome === null ? row['outcome'] : canonical(outcome),
        origin_run_id: row['origin_run_id'] ?? from,
      };
    }),
  );
}
