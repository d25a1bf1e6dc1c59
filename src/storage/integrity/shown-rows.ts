import type { Knex } from 'knex';
import { argumentsFault, storedRow } from '../../core/integrity/begin-rows.js';
import type { StoredRow } from '../../core/integrity/copied-table.js';
import type { LoggedFacts } from '../../core/integrity/logged-facts.js';
import { falseInInterruption, falseInRun, isStateOf } from '../../core/integrity/shown-rows.js';
import type { Integrity } from '../../core/integrity.js';
import { isOver } from '../../core/runs/run.js';
import { type WantedEvent, type WantedEvents, wantedEvents } from '../evidence/log-pages.js';
import type { DecisionRow, InterruptionRow } from '../interruptions/interruption-rows.js';
import { pendingIds } from '../interruptions/interruptions.js';
import { withDigests } from '../log/long-events.js';
import { type RunRow, usageOfFamily } from '../runs/run-row.js';
import { begun, factsOf, MADE } from './begin-events.js';
import { runCopies } from './copied-rows.js';

/**
 * What rows that someone is shown say otherwise than the log, read by index: the first two events of a run, its last one, and those of
 * its interruptions. Each must fit its own hashes; the whole chain is for `verify`. To be called in the transaction that has read the
 * rows, which sees one moment or holds the rows of the runs.
 */

const FIRST = 2;
/** `short`: for a list, which has the database make digests of long payloads of the first events and the last one. */
export type Long = 'whole' | 'short';
/** As many as a tool may ask for. */
const VOTES_MAX = 20;

const keyOf = async (trx: Knex, ids: readonly string[]): Promise<ReadonlyMap<string, string>> => {
  const rows: { run_id: string; key: string }[] = await trx('holdfast.run_keys')
    .whereRaw('run_id = any(?)', [[...ids]])
    .select('run_id', 'key');
  return new Map(rows.map(({ run_id: id, key }) => [id, key]));
};

const whole = (table: string, row: string, what: string): Integrity => [{ table, row, column: null, what }];

/** Of a run whose content was erased the log says nothing any more. */
const withoutKey = (id: string, row: StoredRow): Integrity =>
  row['erased_at'] === null
    ? whole('run_keys', id, 'the key of its payloads was removed, and no one erased the run')
    : [];

interface HeadRow {
  readonly run_id: string;
  readonly seq: number;
  readonly hash: string;
  readonly state: string;
}

/** What is read beside rows of runs. */
interface Beside {
  readonly copies: ReadonlyMap<string, StoredRow>;
  readonly heads: ReadonlyMap<string, HeadRow>;
  readonly keys: ReadonlyMap<string, string>;
  readonly events: ReadonlyMap<string, readonly WantedEvent[]>;
  /** What their charges add up to; null: a price is not known. */
  readonly charged: ReadonlyMap<string, string | null>;
}

/** Statements that are sent at the same time travel together. */
async function readBeside(trx: Knex, rows: readonly RunRow[], long: Long): Promise<Beside> {
  const ids = rows.map(({ id }) => id);
  const over = rows.flatMap(({ id, status }) => (isOver(status) ? [id] : []));
  const wanted = ids.map((runId) => ({ runId, keys: ['cancel'], last: true }));
  const [copies, heads, { keys, events }, charged] = await Promise.all([
    runCopies(trx, ids),
    headsOf(trx, ids),
    keysAndEvents(trx, ids, wanted, long),
    chargedOf(trx, over),
  ]);
  return { copies, heads, keys, events, charged };
}

async function headsOf(trx: Knex, ids: readonly string[]): Promise<ReadonlyMap<string, HeadRow>> {
  const heads: HeadRow[] = await trx('holdfast.run_heads')
    .whereRaw('run_id = any(?)', [[...ids]])
    .select('run_id', 'seq', 'hash', 'state');
  return new Map(heads.map((one) => [one.run_id, one]));
}

async function keysAndEvents(
  trx: Knex,
  ids: readonly string[],
  wanted: readonly WantedEvents[],
  long: Long,
): Promise<Pick<Beside, 'keys' | 'events'>> {
  const terms = { first: FIRST, short: long === 'short' };
  const [keys, events] = await Promise.all([keyOf(trx, ids), wantedEvents(trx, wanted, terms)]);
  return { keys, events: await withDigests(trx, events, keys) };
}

async function chargedOf(trx: Knex, ids: readonly string[]): Promise<ReadonlyMap<string, string | null>> {
  const rows: { run_id: string; nano_usd: string | null }[] = await trx('holdfast.charges')
    .whereRaw('run_id = any(?)', [[...ids]])
    .groupBy('run_id')
    .select('run_id', trx.raw('case when count(*) = count(nano_usd) then sum(nano_usd)::text end as nano_usd'));
  return new Map(rows.map(({ run_id: id, nano_usd: sum }) => [id, sum]));
}

/** Of a run: the ids of what waits, where it is paused, and what its rows say otherwise than its log. */
export interface Shown {
  readonly pending: readonly string[];
  readonly integrity: Integrity;
}

/** Of each of several runs. */
export async function shownOf(trx: Knex, rows: readonly RunRow[], long: Long): Promise<ReadonlyMap<string, Shown>> {
  const paused = rows.flatMap(({ id, status }) => (status === 'paused' ? [id] : []));
  const [waiting, beside] = await Promise.all([pendingIds(trx, paused), readBeside(trx, rows, long)]);
  return new Map(
    rows.map((row) => {
      const pending = waiting.get(row.id) ?? [];
      return [row.id, { pending, integrity: falseIn(row, pending, beside) }];
    }),
  );
}

function falseIn(row: RunRow, pending: readonly string[], beside: Beside): Integrity {
  const { id, status, cost_nano_usd: cost } = row;
  const { copies, heads, keys, events, charged } = beside;
  const [stored, runKey, head, log] = [copies.get(id) ?? {}, keys.get(id), heads.get(id), events.get(id) ?? []];
  if (runKey === undefined) return withoutKey(id, stored);
  if (head === undefined) return whole('run_heads', id, 'the head of its log was removed');
  if (!isStateOf(head, log.at(-1)))
    return whole('run_heads', id, 'the head of its log is not what its last event made of the state');
  const read = begun(factsOf(log, runKey));
  if ('broken' in read) return whole('events', id, read.broken);
  // A run without a charge has cost nothing.
  const sum = charged.get(id);
  const sums = { usage: usageOfFamily(row), cost, charged: sum === undefined ? '0' : sum };
  // Its hash is that of the last event: it is as the fold has written it.
  return falseInRun({ id, status, pending, stored, ...sums }, read.facts, JSON.parse(head.state));
}

/** Of one that takes a single approval there is no vote; where the row hides that it takes more, that is what is found. */
const keysOf = ({ id, required_approvals: required }: InterruptionRow): string[] => [
  ...[`interruption:${id}`, `decision:${id}`],
  ...Array.from({ length: required > 1 ? Math.min(required, VOTES_MAX) : 0 }, (_, vote) => `vote:${id}:${vote + 1}`),
];

/** What of interruptions, of what was said on them and of what their runs were started with is not what the log says. */
export async function falseInterruptions(
  trx: Knex,
  rows: readonly InterruptionRow[],
  decisions: readonly DecisionRow[],
  long: Long,
): Promise<ReadonlyMap<string, Integrity>> {
  const ids = [...new Set(rows.map((row) => row.run_id))];
  const wanted = ids.map((runId) => ({
    ...{ runId, last: false },
    keys: rows.flatMap((row) => (row.run_id === runId ? keysOf(row) : [])),
  }));
  const [copies, { keys, events }] = await Promise.all([runCopies(trx, ids), keysAndEvents(trx, ids, wanted, long)]);
  return new Map(
    rows.map((row) => {
      const { id, run_id: runId } = row;
      const [run, runKey] = [copies.get(runId), keys.get(runId)];
      if (run === undefined) return [id, whole('interruptions', id, 'there is no run of it')];
      if (runKey === undefined) return [id, withoutKey(runId, run)];
      const read = begun(factsOf((events.get(runId) ?? []).filter(isAbout(row)), runKey));
      if ('broken' in read) return [id, whole('events', runId, read.broken)];
      const of = { id: runId, tenant: String(run['tenant_of_run']) };
      return [id, falseOf({ of, run, facts: read.facts }, row, decisions)];
    }),
  );
}

/** Whether an event says how the run was made, what the call was, or something of the interruption. */
const isAbout =
  ({ id, call_id: callId }: InterruptionRow) =>
  ({ kind, data }: WantedEvent): boolean => {
    if (MADE.has(kind)) return true;
    const said = data as { readonly id?: unknown; readonly callId?: unknown } | null;
    return kind === 'call.checked' ? said?.callId === callId : said?.id === id;
  };

function falseOf(
  {
    of,
    run,
    facts,
  }: { readonly of: Pick<RunRow, 'id' | 'tenant'>; readonly run: StoredRow; readonly facts: LoggedFacts },
  row: InterruptionRow,
  decisions: readonly DecisionRow[],
): Integrity {
  const found = falseInInterruption(of.id, facts, {
    run,
    interruption: storedRow('interruptions', row, of),
    decisions: decisions
      .filter(({ interruption_id: id }) => id === row.id)
      .map((one) => storedRow('decisions', one, of)),
  });
  if (found.some(({ column }) => column === 'arguments')) return found;
  const other = argumentsFault(row, facts);
  return other === null ? found : [...found, other];
}
