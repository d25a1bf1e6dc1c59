import type { Knex } from 'knex';
import { canonical } from '../../core/json.js';
import { type Head, seal } from '../../core/log/chain.js';
import type { EventDraft, RunEvent } from '../../core/log/event.js';
import type { StepAction, SystemEventData, SystemEventKind } from '../../core/log/system-event.js';
import { CHARGE_COLUMNS, chargeRowsOf, type NewChargeRow } from '../budgets/charges.js';

/** What is told of the events of a run, as events of the system: in the statement that writes them, not in one of their own. */
interface ToldRow {
  readonly tenant: string;
  readonly kind: SystemEventKind;
  readonly run_id: string;
  readonly worker_id: string | null;
  readonly data: string;
}

type Told = {
  readonly [K in SystemEventKind]: { readonly kind: K; readonly data: SystemEventData<K> };
}[SystemEventKind];

function stepOf(draft: EventDraft): StepAction | null {
  if (draft.kind === 'model.responded') return { type: 'model', turn: draft.data.turn, model: draft.data.model };
  if (draft.kind !== 'call.finished') return null;
  const { tool, outcome } = draft.data;
  return { type: 'tool', tool, outcome: outcome.type };
}

/** That something happened, and to what: nothing of what was said or done. */
function toldOf(draft: EventDraft): Told | null {
  switch (draft.kind) {
    case 'run.created':
      return { kind: 'run.started', data: { agent: draft.data.agent } };
    case 'run.paused':
      return { kind: 'run.paused', data: { waits: draft.data.interruptions.length } };
    case 'segment.started': {
      const { segment, decisions } = draft.data;
      return segment > 0 && decisions.length > 0 ? { kind: 'run.continued', data: { segment } } : null;
    }
    case 'run.completed':
      return { kind: 'run.ended', data: { status: 'completed', code: null } };
    case 'run.failed':
      return { kind: 'run.ended', data: { status: 'failed', code: draft.data.error.code } };
    case 'run.cancelled':
      return { kind: 'run.ended', data: { status: 'cancelled', code: null } };
    case 'interruption.requested': {
      const { id, kind, tool, expiresInMs } = draft.data;
      return { kind: 'interruption.requested', data: { id, kind, tool, expiresInMs } };
    }
    case 'interruption.voted':
      return { kind: 'interruption.voted', data: { id: draft.data.id, actor: draft.data.actor } };
    case 'interruption.decided': {
      const { id, verdict, actor } = draft.data;
      return { kind: 'interruption.decided', data: { id, verdict, actor } };
    }
    default:
      return null;
  }
}

const rewardOf = (draft: EventDraft): number | null =>
  draft.kind === 'call.finished' ? (draft.data.step?.reward ?? null) : null;

/** `placed`: each draft, with the end of the log after it. Steps are of a worker: what no worker writes, no one executed. */
function toldRowsOf(
  { runId, tenant }: { readonly runId: string; readonly tenant: string },
  placed: readonly { readonly draft: EventDraft; readonly head: Head }[],
  { worker, copied = false }: Writing,
): readonly ToldRow[] {
  if (copied) return [];
  return placed.flatMap(({ draft, head: { seq, state } }) => {
    const action = worker === null ? null : stepOf(draft);
    const worth = { step: Math.max(1, state.turns), reward: rewardOf(draft), durationMs: draft.tookMs ?? null };
    const told: Told | null =
      action === null ? toldOf(draft) : { kind: 'step.executed', data: { seq, action, ...worth } };
    if (told === null) return [];
    return [{ tenant, kind: told.kind, run_id: runId, worker_id: worker, data: canonical(told.data) }];
  });
}

/** A part of the statement that writes events, which has the CTE `head`. Takes the rows as JSON. */
const TOLD = `, told as (
       insert into holdfast.system_events (tenant, kind, run_id, worker_id, data)
       select tenant, kind, run_id, worker_id, data
         from json_populate_recordset(null::holdfast.system_events, ?::json) where run_id in (select run_id from head))`;

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
  /** Whether they were taken over from another log: then nothing happens by them. */
  readonly copied?: boolean;
}

/** Events of one log as they are written. */
export interface SealedEvents {
  readonly rows: readonly EventRow[];
  readonly charges: readonly NewChargeRow[];
  readonly told: readonly ToldRow[];
  readonly tail: LogTail;
}

export function sealAll(from: LogTail, drafts: readonly EventDraft[], writing: Writing): SealedEvents {
  const { at, worker } = writing;
  const { runKey } = from;
  const { runId } = from.head;
  const seqOf = new Map(from.seqOf);
  let { head } = from;
  const placed: { draft: EventDraft; head: Head }[] = [];
  const rows = drafts.map((draft) => {
    const parent = draft.parentKey === null ? undefined : seqOf.get(draft.parentKey);
    const sealed = seal(head, draft, parent === undefined ? null : `${runId}:${parent}`, at, runKey);
    head = sealed.head;
    placed.push({ draft, head });
    seqOf.set(draft.key, head.seq);
    return rowOf(sealed.event, draft.key, sealed.dataText, worker);
  });
  const charges = drafts.flatMap((draft) => chargeRowsOf(runId, from.head.tenant, draft.charges ?? []));
  const told = toldRowsOf(from.head, placed, writing);
  return { rows, charges, told, tail: { head, runKey, seqOf } };
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
  const { rows, charges, told } = sealed;
  const { head } = sealed.tail;
  const folds = keepsFold(before.seq, head.seq);
  const { rowCount }: { rowCount: number } = await db.raw(
    `with head as (
       update holdfast.run_heads set seq = ?, hash = ?, state = ?, state_hash = ?, at = ?, moved = true
        where run_id = ? and seq = ? and hash = ? returning run_id)${charges.length === 0 ? '' : CHARGED}${told.length === 0 ? '' : TOLD}${folds ? FOLDED : ''}
     insert into holdfast.events (${COLUMNS})
     select ${COLUMNS} from json_populate_recordset(null::holdfast.events, ?::json)
      where exists (select from head)`,
    [
      ...[head.seq, head.hash, canonical(head.state), head.stateHash, head.at],
      ...[head.runId, before.seq, before.hash],
      ...(charges.length === 0 ? [] : [JSON.stringify(charges)]),
      ...(told.length === 0 ? [] : [JSON.stringify(told)]),
      ...(folds ? foldedBy(head) : []),
      JSON.stringify(rows),
    ],
  );
  return rowCount > 0;
}

/** The same for several logs whose heads are held, and that have no charges and no fold to keep. */
export async function writeEachSealed(
  trx: Knex.Transaction,
  logs: readonly { readonly before: Head; readonly sealed: SealedEvents }[],
): Promise<void> {
  const heads = logs.map(({ before, sealed: { tail } }) => ({
    ...{ run_id: before.runId, seq: tail.head.seq, hash: tail.head.hash, state: canonical(tail.head.state) },
    ...{ state_hash: tail.head.stateHash, at: tail.head.at, before_seq: before.seq, before_hash: before.hash },
  }));
  const told = logs.flatMap(({ sealed }) => sealed.told);
  await trx.raw(
    `with given as (
       select * from json_to_recordset(?::json) as g(run_id text, seq int, hash text, state text, state_hash text,
                                                     at text, before_seq int, before_hash text)),
     head as (
       update holdfast.run_heads h
          set seq = g.seq, hash = g.hash, state = g.state, state_hash = g.state_hash, at = g.at, moved = true
         from given g
        where h.run_id = g.run_id and h.seq = g.before_seq and h.hash = g.before_hash returning h.run_id)${told.length === 0 ? '' : TOLD}
     insert into holdfast.events (${COLUMNS})
     select ${COLUMNS} from json_populate_recordset(null::holdfast.events, ?::json)
      where run_id in (select run_id from head)`,
    [
      JSON.stringify(heads),
      ...(told.length === 0 ? [] : [JSON.stringify(told)]),
      JSON.stringify(logs.flatMap(({ sealed: { rows } }) => rows)),
    ],
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

/** So many events lie between two states that are kept of a log, about. */
export const FOLD_EVERY = 1000;

/** Whether a state is kept at the end of events that are written: once in so many of a log. */
export const keepsFold = (before: number, after: number): boolean =>
  Math.floor(before / FOLD_EVERY) !== Math.floor(after / FOLD_EVERY);

/** Part of the statement that writes events: keeps the state at their end, if the head is still the one that they follow. */
const FOLDED = `, folded as (
       insert into holdfast.fold_snapshots (run_id, seq, tenant, hash, state, state_hash)
       select run_id, ?::int, ?, ?, ?, ? from head on conflict do nothing)`;

const foldedBy = ({ seq, tenant, hash, state, stateHash }: Head) => [
  ...[seq, tenant, hash, canonical(state), stateHash],
];

/** Names in the log are made of ids, and models choose the ids of calls. */
const keyLeft = (of: string): string =>
  `case when ${of}.key = any(:own) then ${of}.key else 'erased:' || ${of}.seq end`;

const ROWS = `update holdfast.events e set data = null, key = ${keyLeft('e')} where e.run_id = :runId`;

const BLOCKS = `update holdfast.packed_events p
   set events = (
     select array_agg(row(u.seq, ${keyLeft('u')}, u.v, u.parent_id, u.kind, u.at, null,
                          u.data_hash, u.state_version, u.state_hash_before, u.state_hash_after, u.prev_hash, u.hash,
                          u.worker)::holdfast.packed_event order by u.seq)
       from unnest(p.events) u)
 where p.run_id = :runId`;

/** Takes the payloads of a run's events away, and their keys but some, wherever the events are. */
export async function eraseEvents(trx: Knex.Transaction, runId: string, ownKeys: readonly string[]): Promise<void> {
  const terms = { runId, own: [...ownKeys] };
  await trx.raw(ROWS, terms);
  await trx.raw(BLOCKS, terms);
}
