import type { Knex } from 'knex';
import { dataPads } from '../../core/log/chain.js';
import type { WantedEvent } from '../evidence/log-pages.js';

/** Members of payloads that may be large and are only compared. */
const MEMBERS = ['input', 'grants', 'metadata', 'output'];
const LARGE_BYTES = 1024;

const SHA256 = (bytes: string): string => `sha256(${bytes})`;
/** HMAC-SHA256 of the payload (RFC 2104), under pads that were made of its salt. */
const COMMITMENT = `'hmac-sha256:' || encode(${SHA256(`decode(w.outer_pad, 'hex') || ${SHA256(`decode(w.inner_pad, 'hex') || convert_to(e.data, 'UTF8')`)}`)}, 'hex')`;
const TEXT = 'value::text';
const IS_LARGE = `key = any(?::text[]) and octet_length(${TEXT}) > ${LARGE_BYTES}`;
const DIGEST = `'sha256:' || encode(${SHA256(`convert_to(${TEXT}, 'UTF8')`)}, 'hex')`;
const EMPTY = `case left(${TEXT}, 1) when '[' then '[]'::json when '{' then '{}'::json else 'null'::json end`;

/**
 * Puts in the place of payloads that were left out because they are long what the database makes of them: whether they are what was
 * committed to, and digests of what is large in them. So that no list reads what is long. `keys`: those of the runs.
 */
export async function withDigests(
  db: Knex,
  byRun: ReadonlyMap<string, readonly WantedEvent[]>,
  keys: ReadonlyMap<string, string>,
): Promise<ReadonlyMap<string, readonly WantedEvent[]>> {
  const long = [...byRun].flatMap(([runId, events]) => {
    const key = keys.get(runId);
    if (key === undefined) return [];
    return events.flatMap(({ seq, isLong }) => (isLong ? [{ runId, seq, ...dataPads(key, seq) }] : []));
  });
  if (long.length === 0) return byRun;
  const { rows }: { rows: LongRow[] } = await db.raw(
    `with read as (
       select e.run_id, e.seq, e.data, ${COMMITMENT} = e.data_hash as fits
         from unnest(?::text[], ?::int[], ?::text[], ?::text[]) as w (run_id, seq, inner_pad, outer_pad)
         join holdfast.events e on e.run_id = w.run_id and e.seq = w.seq)
     select run_id, seq, fits, made.rest, made.digests
       from read cross join lateral (
         select json_object_agg(key, case when ${IS_LARGE} then ${EMPTY} else value end)::text as rest,
                (json_object_agg(key, ${DIGEST}) filter (where ${IS_LARGE}))::text as digests
           from json_each(case when fits then data else '{}' end::json)) made`,
    [
      ...[long.map(({ runId }) => runId), long.map(({ seq }) => seq)],
      ...[long.map(({ inner }) => inner), long.map(({ outer }) => outer)],
      ...[MEMBERS, MEMBERS],
    ],
  );
  const read = new Map(rows.map((row) => [`${row.run_id} ${row.seq}`, row]));
  return new Map(
    [...byRun].map(([runId, events]) => [
      runId,
      events.map((event) => digested(event, read.get(`${runId} ${event.seq}`))),
    ]),
  );
}

interface LongRow {
  readonly run_id: string;
  readonly seq: number;
  readonly fits: boolean;
  readonly rest: string | null;
  readonly digests: string | null;
}

function digested(event: WantedEvent, row: LongRow | undefined): WantedEvent {
  if (row === undefined) return event;
  // What PostgreSQL has made of a payload that is what was committed to.
  const data = JSON.parse(row.rest ?? 'null');
  return { ...event, data, digests: row.fits ? JSON.parse(row.digests ?? '{}') : null };
}
