import type { Knex } from 'knex';
import { z } from 'zod';
import { HoldfastError } from '../../core/errors/errors.js';
import type { Integrity } from '../../core/integrity.js';
import {
  type Always,
  type ArgumentEdit,
  always,
  argumentEdit,
  type DecisionView,
  type InterruptionReason,
  type InterruptionStatus,
  type InterruptionView,
  interruptionView,
  type Verdict,
} from '../../core/interruptions/interruption.js';
import { type PlacedWait, placedWait } from '../../core/interruptions/wait.js';
import { canonical, type JsonValue, jsonValue } from '../../core/json.js';
import type { ApprovalTerms } from '../../core/runs/ending.js';
import type { Rows } from '../database/columns.js';
import { readJson, readJsonOrNull } from '../database/stored-json.js';
import { inOneFlight } from '../database/transactions.js';
import { type PageRows, rowsOfPage } from '../runs/page-rows.js';
import { runColumns } from '../runs/run-columns.js';
import { decodeCursor, type Placed, placeOf } from '../runs/run-list.js';
import type { RunRow } from '../runs/run-row.js';
import { runs } from '../runs/runs.js';
import { type DecisionRow, decisionColumns, type InterruptionRow, interruptionColumns } from './interruption-rows.js';

export interface NewInterruption {
  readonly id: string;
  readonly runId: string;
  readonly tenant: string;
  readonly agent: string;
  readonly segment: number;
  readonly kind: InterruptionView['kind'];
  /** Null: it belongs to no call. */
  readonly callId: string | null;
  readonly tool: string | null;
  readonly arguments: JsonValue;
  readonly reason: InterruptionReason;
  readonly text: string;
  readonly verdicts: InterruptionView['verdicts'];
  readonly digest: string;
  readonly approval: ApprovalTerms;
  readonly expiresAt: Date | null;
  /** Null for approvals. */
  readonly wait: PlacedWait | null;
}

/** By what an event finds the waits that it settles: its name, and the name with its key. */
export const eventMatches = (name: string, key: string | null): string => (key === null ? name : `${name} ${key}`);

const interruptions = (db: Knex) => db<InterruptionRow>('holdfast.interruptions');
const decisions = (db: Knex) => db<DecisionRow>('holdfast.decisions');

export async function insertInterruption(trx: Knex.Transaction, it: NewInterruption): Promise<void> {
  await interruptions(trx).insert({
    id: it.id,
    run_id: it.runId,
    tenant: it.tenant,
    agent: it.agent,
    segment: it.segment,
    kind: it.kind,
    status: 'pending',
    call_id: it.callId,
    tool: it.tool,
    arguments: canonical(it.arguments),
    reason: it.reason,
    reason_text: it.text,
    verdicts: canonical(it.verdicts),
    digest: it.digest,
    required_approvals: it.approval.required,
    separate_requester: it.approval.separate,
    tool_version: it.approval.toolVersion,
    capabilities: canonical(it.approval.capabilities),
    expires_at: it.expiresAt,
    wait: it.wait === null ? null : canonical(it.wait),
    event_name: it.wait?.spec.kind === 'event' ? eventMatches(it.wait.spec.name, it.wait.spec.key) : null,
  });
}

/** Gives decided interruptions to a later segment, which is the one that applies them. */
export async function carryInterruptions(
  trx: Knex.Transaction,
  ids: readonly string[],
  segment: number,
): Promise<void> {
  if (ids.length > 0) await interruptions(trx).whereIn('id', ids).update({ segment });
}

export const findInterruption = (db: Knex, tenant: string, id: string): Promise<InterruptionRow | undefined> =>
  interruptions(db).where({ tenant, id }).first(interruptionColumns(db));

/** Holds the row of the run that an interruption is of, and reads both. Either is undefined where there is none. */
export async function lockInterruption(
  trx: Knex.Transaction,
  tenant: string,
  id: string,
): Promise<{ readonly run: RunRow | undefined; readonly row: InterruptionRow | undefined }> {
  const of = interruptions(trx).where({ tenant, id });
  const runOf = runs(trx).whereIn('id', of.clone().select('run_id')).forNoKeyUpdate().select(runColumns(trx));
  const row = of.select(interruptionColumns(trx));
  const [[run], [read]] = await inOneFlight<[RunRow, InterruptionRow]>(trx, [runOf, row]);
  return { run, row: read };
}

export const pendingOf = async (db: Knex, runId: string): Promise<InterruptionRow[]> => pendingOfEach(db, [runId]);

export const pendingOfEach = async (db: Knex, runIds: readonly string[]): Promise<InterruptionRow[]> =>
  interruptions(db)
    .whereRaw('run_id = any(?)', [[...runIds]])
    .where({ status: 'pending' })
    .orderBy(['requested_at', 'id'])
    .select(interruptionColumns(db));

/** What each of several runs waits for, by run. */
export async function pendingIds(db: Knex, runIds: readonly string[]): Promise<ReadonlyMap<string, readonly string[]>> {
  const byRun = new Map<string, string[]>(runIds.map((id) => [id, []]));
  if (runIds.length === 0) return byRun;
  const rows = await interruptions(db)
    .whereIn('run_id', [...runIds])
    .where({ status: 'pending' })
    .orderBy(['requested_at', 'id'])
    .select('id', 'run_id');
  for (const { id, run_id: runId } of rows) byRun.get(runId)?.push(id);
  return byRun;
}

/** The interruptions that a segment ended with, in a stable order. */
export const interruptionsOfSegment = (db: Knex, runId: string, segment: number): Rows<InterruptionRow> =>
  interruptions(db).where({ run_id: runId, segment }).orderBy('id').select(interruptionColumns(db));

/** Interruptions by id, in the order of the ids. */
export async function interruptionsByIds(db: Knex, ids: readonly string[]): Promise<InterruptionRow[]> {
  const rows: InterruptionRow[] = ids.length === 0 ? [] : await interruptions(db).whereIn('id', ids);
  return ids.flatMap((id) => rows.filter((row) => row.id === id));
}

/** What was said on interruptions: while one that takes a single decision is pending, nothing. */
export const saidOnEach = (db: Knex, rows: readonly InterruptionRow[]): Promise<DecisionRow[]> =>
  decisionsOf(
    db,
    rows.filter((row) => row.status !== 'pending' || row.required_approvals !== 1).map(({ id }) => id),
  );

/** The decisions on the interruptions that a segment ended with. */
export const decisionsOfSegment = (db: Knex, runId: string, segment: number): Rows<DecisionRow> =>
  decisions(db)
    .whereIn('interruption_id', interruptions(db).where({ run_id: runId, segment }).select('id'))
    .orderBy(['interruption_id', 'vote'])
    .select(decisionColumns(db));

export const decisionsOf = async (db: Knex, ids: readonly string[]): Promise<DecisionRow[]> =>
  ids.length === 0
    ? []
    : decisions(db).whereIn('interruption_id', ids).orderBy(['interruption_id', 'vote']).select(decisionColumns(db));

/** Who approved a call, in the order in which they did. */
export async function approversOf(db: Knex, runId: string, callId: string): Promise<string[]> {
  const asked = interruptions(db).where({ run_id: runId, call_id: callId, kind: 'approval' }).select('id');
  const said: Pick<DecisionRow, 'actor'>[] = await decisions(db)
    .whereIn('interruption_id', asked)
    .where({ verdict: 'approve' })
    .orderBy(['interruption_id', 'vote'])
    .select('actor');
  return [...new Set(said.map(({ actor }) => actor))];
}

/** Settles interruptions: what they wait for any more is gone. Gives them as they are now, in any order. */
export async function settleInterruptions(
  trx: Knex.Transaction,
  settled: readonly { readonly id: string; readonly status: InterruptionStatus }[],
): Promise<readonly InterruptionRow[]> {
  const { rows }: { rows: InterruptionRow[] } = await trx.raw(
    `with given as (select * from json_to_recordset(?::json) as g(given_id text, given_status text)),
     over as (delete from holdfast.timers where target in (select given_id from given))
     update holdfast.interruptions set status = given_status, settled_at = now()
       from given where id = given_id returning ${interruptionColumns(trx).toQuery()}`,
    [JSON.stringify(settled.map(({ id, status }) => ({ given_id: id, given_status: status })))],
  );
  return rows;
}

export interface NewDecision {
  readonly row: InterruptionRow;
  readonly vote: number;
  readonly verdict: Verdict;
  readonly actor: string;
  readonly message: string | null;
  readonly value: JsonValue;
  readonly edit: ArgumentEdit | null;
  readonly always: Always | null;
}

/** Gives them as they were kept, in any order. */
export async function insertDecisions(
  trx: Knex.Transaction,
  made: readonly NewDecision[],
): Promise<readonly DecisionRow[]> {
  const given = made.map(({ row, vote, verdict, actor, message, value, edit, always: lasting }) => ({
    id: vote === 1 ? `dec_${row.id}` : `dec_${row.id}_${vote}`,
    ...{ interruption_id: row.id, run_id: row.run_id, tenant: row.tenant },
    ...{ vote, verdict, actor, message },
    value: canonical(value),
    edit: edit === null ? null : canonical(edit),
    always: lasting === null ? null : canonical(lasting),
  }));
  const { rows }: { rows: DecisionRow[] } = await trx.raw(
    `insert into holdfast.decisions (${DECISION_GIVEN})
     select ${DECISION_GIVEN} from json_populate_recordset(null::holdfast.decisions, ?::json)
     returning ${decisionColumns(trx).toQuery()}`,
    [JSON.stringify(given)],
  );
  return rows;
}

const DECISION_GIVEN = 'id, interruption_id, run_id, tenant, vote, verdict, actor, message, value, edit, "always"';

const verdicts = z.array(interruptionView.shape.verdicts.element);
const capabilities = z.array(z.string());

const cell = ({ id }: Pick<InterruptionRow, 'id'>, column: keyof InterruptionRow) => ({
  ...{ table: 'interruptions', row: id, column },
});
const decisionCell = ({ id }: DecisionRow, column: keyof DecisionRow) => ({ table: 'decisions', row: id, column });

export const capabilitiesOf = (row: InterruptionRow): readonly string[] =>
  readJson(capabilities, row.capabilities, cell(row, 'capabilities'));

/** What the model asked for. */
export const argumentsOf = (row: Pick<InterruptionRow, 'id' | 'arguments'>): JsonValue =>
  readJson(jsonValue, row.arguments, cell(row, 'arguments'));

export const decisionViewOf = (row: DecisionRow): DecisionView => ({
  id: row.id,
  verdict: row.verdict,
  actor: row.actor,
  message: row.message,
  value: readJson(jsonValue, row.value, decisionCell(row, 'value')),
  edit: readJsonOrNull(argumentEdit, row.edit, decisionCell(row, 'edit')),
  always: readJsonOrNull(always, row.always, decisionCell(row, 'always')),
  decidedAt: row.decided_at.toISOString(),
});

/** Past its time nothing is decided, told or executed, even when the sweep that settles it is late. */
export const isPast = ({ expires_at: expiresAt }: InterruptionRow, nowMs: number): boolean =>
  expiresAt instanceof Date && expiresAt.getTime() <= nowMs;

/** Which wait of its call an interruption is; null: an approval. */
export const waitOf = (row: InterruptionRow): PlacedWait | null =>
  readJsonOrNull(placedWait, row.wait, cell(row, 'wait'));

export const interruptionViewOf = (
  row: InterruptionRow,
  settled: readonly DecisionRow[],
  { unfit = null, integrity = [] }: { readonly unfit?: string | null; readonly integrity?: Integrity } = {},
): InterruptionView => ({
  ...{ unfit, integrity },
  id: row.id,
  runId: row.run_id,
  agent: row.agent,
  kind: row.kind,
  status: row.status,
  callId: row.call_id,
  tool: row.tool,
  arguments: argumentsOf(row),
  capabilities: [...capabilitiesOf(row)],
  reason: { code: row.reason, text: row.reason_text },
  wait: waitOf(row)?.spec ?? null,
  verdicts: readJson(verdicts, row.verdicts, cell(row, 'verdicts')),
  digest: row.digest,
  requiredApprovals: row.required_approvals,
  separateRequester: row.separate_requester ?? row.required_approvals > 1,
  decisions: settled.filter((decision) => decision.interruption_id === row.id).map(decisionViewOf),
  requestedAt: row.requested_at.toISOString(),
  expiresAt: row.expires_at?.toISOString() ?? null,
});

export interface InterruptionFilter {
  readonly status?: InterruptionStatus;
  readonly runId?: string;
  readonly agent?: string;
  readonly tool?: string;
  readonly kind?: InterruptionView['kind'] | readonly InterruptionView['kind'][];
  /** Those whose time to decide is over before. What never expires is left out. */
  readonly expiresBefore?: Date;
  /** Only those that this actor has said something about. */
  readonly votedBy?: string;
  /** Default `age`: by the time at which they were asked for. `deadline`: what never expires comes last. */
  readonly order?: 'age' | 'newest' | 'deadline';
}

/** As the index has it. */
const DUE = `coalesce(expires_at, '9999-12-31 00:00:00+00'::timestamptz)`;

/** What was decided of it is read with it, and what its run may do. */
const SHOWN_BYTES = `octet_length(arguments) + octet_length(reason_text) + octet_length(capabilities) + coalesce(octet_length(wait), 0)
  + coalesce((select sum(octet_length(d.value) + coalesce(octet_length(d.edit), 0) + coalesce(octet_length(d.message), 0))
       from holdfast.decisions d where d.interruption_id = holdfast.interruptions.id), 0)
  + coalesce((select octet_length(r.grants) from holdfast.runs r where r.id = holdfast.interruptions.run_id), 0)`;

/** A page of the inbox. */
export async function listInterruptionRows(
  db: Knex,
  filter: InterruptionFilter & { readonly tenant: string; readonly limit: number; readonly cursor?: string },
): Promise<PageRows<Placed<InterruptionRow>>> {
  const { tenant, status, runId, agent, tool, kind, expiresBefore, votedBy, cursor, order = 'age' } = filter;
  const same = Object.entries({ tenant, status, run_id: runId, agent, tool }).filter(
    ([, value]) => value !== undefined,
  );
  const place = order === 'deadline' ? DUE : 'requested_at';
  const direction = order === 'newest' ? 'desc' : 'asc';
  const query = interruptions(db).where(Object.fromEntries(same)).select(interruptionColumns(db), placeOf(db, place));
  if (kind !== undefined) query.whereRaw('kind = any(?)', [[kind].flat()]);
  if (expiresBefore !== undefined) query.where('expires_at', '<', expiresBefore);
  if (votedBy !== undefined)
    query.whereRaw(
      'exists (select from holdfast.decisions d where d.interruption_id = holdfast.interruptions.id and d.actor = ?)',
      [votedBy],
    );
  if (cursor !== undefined) {
    const { at, id } = decodeCursor(cursor);
    query.whereRaw(`(${place}, id) ${direction === 'asc' ? '>' : '<'} (?::timestamptz, ?)`, [at, id]);
  }
  const keys = [
    { sql: place, order: direction },
    { column: 'id', order: direction },
  ] as const;
  return rowsOfPage(db, query, { order: keys, bytes: SHOWN_BYTES, limit: filter.limit });
}

/** Counting stops there. */
const COUNTED_MOST = 10_000;
const NAMES_MOST = 20;

export interface PendingCounts {
  readonly pending: number;
  readonly mine: number;
  readonly byKind: readonly Counted[];
  readonly byAgent: readonly Counted[];
  readonly byTool: readonly Counted[];
  readonly expiringWithinHour: number;
  readonly oldestRequestedAt: Date | null;
  readonly atLeast: boolean;
}

interface Counted {
  readonly name: string;
  readonly count: number;
}

/** What waits for people, counted; of the oldest where there is more than is counted. `mine`: what this actor has approved already. */
export async function countWaiting(db: Knex, tenant: string, actor: string): Promise<PendingCounts> {
  const waiting = interruptions(db)
    .where({ tenant, status: 'pending' })
    .whereIn('kind', ['approval', 'question', 'budget'])
    .orderBy('requested_at')
    .limit(COUNTED_MOST + 1)
    .select('id', 'kind', 'agent', 'tool', 'requested_at', 'expires_at');
  const by = (column: string): string =>
    `coalesce((select json_agg(json_build_object('name', name, 'count', n)) from
       (select ${column} as name, count(*)::int as n from waiting where ${column} is not null
         group by 1 order by 2 desc, 1 limit ${NAMES_MOST}) named), '[]')`;
  const { rows }: { rows: PendingCounts[] } = await db.raw(
    `with waiting as materialized (?)
     select count(*)::int as pending,
            (select count(*)::int from waiting w where exists (select from holdfast.decisions d
              where d.interruption_id = w.id and d.actor = ?)) as mine,
            ${by('kind')} as "byKind", ${by('agent')} as "byAgent", ${by('tool')} as "byTool",
            (count(*) filter (where expires_at < now() + interval '1 hour'))::int as "expiringWithinHour",
            min(requested_at) as "oldestRequestedAt", count(*) > ${COUNTED_MOST} as "atLeast"
       from waiting`,
    [waiting, actor],
  );
  const [counts] = rows;
  if (counts === undefined) throw new HoldfastError('internal', 'A count gave no row.');
  return counts;
}

/** What was decided last about calls of a tool, newest first, by a person or by time. */
export const lastDecidedAbout = (
  db: Knex,
  { tenant, tool, limit }: { readonly tenant: string; readonly tool: string; readonly limit: number },
): Rows<InterruptionRow> =>
  interruptions(db)
    .where({ tenant, tool, kind: 'approval' })
    .whereIn('status', ['approved', 'rejected', 'expired'])
    .whereNotNull('settled_at')
    .orderBy('settled_at', 'desc')
    .limit(limit)
    .select(interruptionColumns(db));

export async function countPending(db: Knex, tenant: string): Promise<number> {
  const [row] = await interruptions(db).where({ tenant, status: 'pending' }).count({ n: '*' });
  return Number(row?.['n'] ?? 0);
}
