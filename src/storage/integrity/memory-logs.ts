import type { Knex } from 'knex';
import type { LoggedCall } from '../../core/integrity/memory-rows.js';
import { jsonOrNull } from '../../core/json.js';
import { dataHash, eventHash } from '../../core/log/chain.js';
import { EVENT_DATA } from '../../core/log/event.js';
import type { WriteText } from '../../core/memory/memory-evidence.js';
import { eventWith } from '../log/read-events.js';
import type { EventRow } from '../log/write-events.js';
import { WRITE_TEXT } from '../memory/evidence-rows.js';

/** A call that wrote, as a change names it. */
export interface NamedCall {
  readonly run_id: string | null;
  readonly call_id: string | null;
  readonly event: string | null;
}

const nameOf = ({ run_id: run, call_id: call }: NamedCall): string => `${run}:${call}`;

interface CallRow {
  name: string;
  there: boolean;
  run_key: string | null;
  erased: boolean;
  removed: boolean;
  event: Omit<EventRow, 'key' | 'worker'> | null;
}

/** Canonical JSON has the id of the call first. The event that ended a call comes soon after the one that began it. */
const CALLS = `select n.name, r.id is not null as there, k.key as run_key,
    exists (select from holdfast.log_entries l where l.run_id = n.run_id and l.loss = 'erased') as erased,
    exists (select from holdfast.log_entries l where l.run_id = n.run_id and l.loss = 'removed') as removed,
    (select row_to_json(e) from holdfast.all_events e
      where e.run_id = n.run_id and e.seq > n.event and e.kind = 'call.finished' and starts_with(e.data, n.prefix)
      order by e.seq limit 1) as event
  from unnest(?::text[], ?::text[], ?::int[], ?::text[]) as n (name, run_id, event, prefix)
  left join holdfast.runs r on r.id = n.run_id left join holdfast.run_keys k on k.run_id = n.run_id`;

/** What the logs say of calls, by run and call. The event that ended one must fit its own hashes; the chain is for `verify`. */
export async function loggedCalls(db: Knex, calls: readonly NamedCall[]): Promise<(call: NamedCall) => LoggedCall> {
  const named = [...new Map(calls.map((call) => [nameOf(call), call])).values()];
  const { rows }: { rows: CallRow[] } = await db.raw(CALLS, [
    named.map(nameOf),
    named.map(({ run_id: run }) => run ?? ''),
    named.map(({ event }) => Number(event ?? 0)),
    named.map(({ call_id: call }) => `{"callId":${JSON.stringify(call)},`),
  ]);
  const found = new Map(rows.map((row) => [row.name, callOf(row)]));
  return (call) => found.get(nameOf(call)) ?? { is: 'unknown' };
}

function callOf({ there, run_key: key, erased, removed, event }: CallRow): LoggedCall {
  if (!there) return { is: removed ? 'removed' : 'unknown' };
  if (key === null) return erased ? { is: 'erased' } : { is: 'broken', what: 'the key of its payloads was removed' };
  if (event === null) return { is: 'open' };
  // What is no JSON any more is no payload either.
  const logged = eventWith(event, jsonOrNull(event.data ?? 'null'));
  const isAsHashed =
    logged.hash === eventHash(logged) && dataHash(key, logged.seq, event.data ?? '') === logged.dataHash;
  const parsed = EVENT_DATA['call.finished'].safeParse(logged.data);
  if (!isAsHashed || !parsed.success) return { is: 'broken', what: `event ${logged.seq} does not fit its own hashes` };
  const { outcome } = parsed.data;
  if (outcome.type === 'refused') return { is: 'ended', refused: true, note: null };
  return { is: 'ended', refused: false, note: outcome.memory ?? null };
}

/** The writes that runs made in calls, by run and call. */
export async function writesOfCalls(
  db: Knex,
  calls: readonly NamedCall[],
): Promise<(call: NamedCall) => readonly WriteText[]> {
  const named = [...new Map(calls.map((call) => [nameOf(call), call])).values()];
  const { rows }: { rows: { run: string; call: string; write: string }[] } = await db.raw(
    `select w.run_id as run, n.call, ${WRITE_TEXT} as write from unnest(?::text[], ?::text[]) as n (run, call)
       join holdfast.memory_writes w on w.run_id = n.run and substr(w.call_key, position(':' in w.call_key) + 1) = n.call`,
    [named.map(({ run_id: run }) => run ?? ''), named.map(({ call_id: call }) => call ?? '')],
  );
  const found = new Map<string, WriteText[]>();
  for (const { run, call, write } of rows) {
    const of = found.get(`${run}:${call}`) ?? [];
    found.set(`${run}:${call}`, of);
    // What the database wrote as JSON, from columns that are named here.
    of.push(JSON.parse(write) as WriteText);
  }
  return (call) => found.get(nameOf(call)) ?? [];
}
