import type { Knex } from 'knex';
import { canonical } from '../../core/json.js';
import { type Head, seal } from '../../core/log/chain.js';
import type { EventDraft, RunEvent } from '../../core/log/event.js';
import type { StepAction } from '../../core/log/system-event.js';
import { CHARGE_COLUMNS, chargeRowsOf, type NewChargeRow } from '../budgets/charges.js';
import { FOLDED, foldedBy, keepsFold } from './keep-fold.js';

/** The steps among the events of a run that are written, as events of the system: in the statement that writes them, not in one of their own. */
interface StepRow {
  readonly tenant: string;
  readonly run_id: string;
  readonly worker_id: string;
  readonly data: string;
}

function actionOf(draft: EventDraft): StepAction | null {
  if (draft.kind === 'model.responded') return { type: 'model', turn: draft.data.turn, model: draft.data.model };
  if (draft.kind !== 'call.finished') return null;
  const { tool, outcome } = draft.data;
  return { type: 'tool', tool, outcome: outcome.type };
}

/** `drafts` in the order of their numbers, which begin with `from`. No one executed what no worker writes: a fork copies it. */
function stepRowsOf(
  { runId, tenant }: { readonly runId: string; readonly tenant: string },
  drafts: readonly EventDraft[],
  from: number,
  worker: string | null,
): readonly StepRow[] {
  if (worker === null) return [];
  return drafts.flatMap((draft, index) => {
    const action = actionOf(draft);
    if (action === null) return [];
    return [{ tenant, run_id: runId, worker_id: worker, data: canonical({ seq: from + index, action }) }];
  });
}

/** A part of the statement that writes events of a run, which has the CTE `head`. Takes the rows as JSON. */
const STEPS_TOLD = `, told as (
       insert into holdfast.system_events (tenant, kind, run_id, worker_id, data)
       select tenant, 'step.executed', run_id, worker_id, data
         from json_populate_recordset(null::holdfast.system_events, ?::json) where exists (select from head))`;

export interface EventRow {
  run_id: string;
  seq: number;
  tenant: string;
  key: string;
  v: number;
  parent_id: string | null;
  kind: string;
  at: string;
  data: string | null;
  data_hash: string;
  state_version: number;
  state_hash_before: string;
  state_hash_after: string;
  prev_hash: string;
  hash: string;
  worker: string | null;
}

/** The end of a log, as the one that wrote it last knows it. */
export interface LogTail {
  readonly head: Head;
  readonly runKey: string;
  /** Places of the events that were written last, and of those that they follow from, by key. */
  readonly seqOf: ReadonlyMap<string, number>;
}

export interface Writing {
  readonly at: string;
  readonly worker: string | null;
  /** The segment that the events are of, where an execution of it writes them beside its work. */
  readonly segment?: number;
}

/** Events of one log as they are written. */
export interface SealedEvents {
  readonly rows: readonly EventRow[];
  readonly charges: readonly NewChargeRow[];
  readonly steps: ReturnType<typeof stepRowsOf>;
  readonly tail: LogTail;
}

export function sealAll(from: LogTail, drafts: readonly EventDraft[], { at, worker }: Writing): SealedEvents {
  const { runKey } = from;
  const { runId } = from.head;
  const seqOf = new Map(from.seqOf);
  let { head } = from;
  const rows = drafts.map((draft) => {
    const parent = draft.parentKey === null ? undefined : seqOf.get(draft.parentKey);
    const sealed = seal(head, draft, parent === undefined ? null : `${runId}:${parent}`, at, runKey);
    head = sealed.head;
    seqOf.set(draft.key, head.seq);
    return rowOf(sealed.event, draft.key, sealed.dataText, worker);
  });
  const charges = drafts.flatMap((draft) => chargeRowsOf(runId, from.head.tenant, draft.charges ?? []));
  const steps = stepRowsOf(from.head, drafts, from.head.seq + 1, worker);
  return { rows, charges, steps, tail: { head, runKey, seqOf } };
}

const COLUMNS =
  'run_id, seq, tenant, key, v, parent_id, kind, at, data, data_hash, state_version, state_hash_before, state_hash_after, prev_hash, hash, worker';

/** What is paid for the events, in their statement: a model call takes none of its own for it. */
const CHARGED = `, charged as (
       insert into holdfast.charges (${CHARGE_COLUMNS})
       select ${CHARGE_COLUMNS} from json_populate_recordset(null::holdfast.charges, ?::json)
        where exists (select from head) on conflict do nothing)`;

/** Writes events and the new head, if the head is still the one that they are chained to. False: it is not. */
export async function writeSealed(db: Knex, before: Head, sealed: SealedEvents): Promise<boolean> {
  const { rows, charges, steps } = sealed;
  const { head } = sealed.tail;
  const folds = keepsFold(before.seq, head.seq);
  const { rowCount }: { rowCount: number } = await db.raw(
    `with head as (
       update holdfast.run_heads set seq = ?, hash = ?, state = ?, state_hash = ?, at = ?, moved = true
        where run_id = ? and seq = ? and hash = ? returning run_id)${charges.length === 0 ? '' : CHARGED}${steps.length === 0 ? '' : STEPS_TOLD}${folds ? FOLDED : ''}
     insert into holdfast.events (${COLUMNS})
     select ${COLUMNS} from json_populate_recordset(null::holdfast.events, ?::json)
      where exists (select from head)`,
    [
      ...[head.seq, head.hash, canonical(head.state), head.stateHash, head.at],
      ...[head.runId, before.seq, before.hash],
      ...(charges.length === 0 ? [] : [JSON.stringify(charges)]),
      ...(steps.length === 0 ? [] : [JSON.stringify(steps)]),
      ...(folds ? foldedBy(head) : []),
      JSON.stringify(rows),
    ],
  );
  return rowCount > 0;
}

/** The same for several logs whose heads are held, and that have no rows beside their events. */
export async function writeEachSealed(
  trx: Knex.Transaction,
  logs: readonly { readonly before: Head; readonly sealed: SealedEvents }[],
): Promise<void> {
  const heads = logs.map(({ before, sealed: { tail } }) => ({
    ...{ run_id: before.runId, seq: tail.head.seq, hash: tail.head.hash, state: canonical(tail.head.state) },
    ...{ state_hash: tail.head.stateHash, at: tail.head.at, before_seq: before.seq, before_hash: before.hash },
  }));
  await trx.raw(
    `with given as (
       select * from json_to_recordset(?::json) as g(run_id text, seq int, hash text, state text, state_hash text,
                                                     at text, before_seq int, before_hash text)),
     head as (
       update holdfast.run_heads h
          set seq = g.seq, hash = g.hash, state = g.state, state_hash = g.state_hash, at = g.at, moved = true
         from given g
        where h.run_id = g.run_id and h.seq = g.before_seq and h.hash = g.before_hash returning h.run_id)
     insert into holdfast.events (${COLUMNS})
     select ${COLUMNS} from json_populate_recordset(null::holdfast.events, ?::json)
      where run_id in (select run_id from head)`,
    [JSON.stringify(heads), JSON.stringify(logs.flatMap(({ sealed: { rows } }) => rows))],
  );
}

const rowOf = (event: RunEvent, key: string, dataText: string, worker: string | null): EventRow => ({
  run_id: event.runId,
  seq: event.seq,
  tenant: event.tenant,
  key,
  v: event.v,
  parent_id: event.parentId,
  kind: event.kind,
  at: event.at,
  data: dataText,
  data_hash: event.dataHash,
  state_version: event.stateVersion,
  state_hash_before: event.stateHashBefore,
  state_hash_after: event.stateHashAfter,
  prev_hash: event.prevHash,
  hash: event.hash,
  worker,
});
