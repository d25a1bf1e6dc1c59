import type { Knex } from 'knex';
import { HoldfastError } from '../../core/errors/errors.js';
import { LogCheck } from '../../core/log/check-log.js';
import type { Broken } from '../../core/log/invariant.js';
import { isReadable, type KeyedEvent } from '../../core/log/recording.js';
import { breathe } from '../database/timing.js';
import { loggedOf } from '../evidence/log-pages.js';
import { rowsOfPage } from '../runs/page-rows.js';
import { BEFORE_ALL } from './read-events.js';
import type { EventRow } from './write-events.js';

const KEYED_AT_ONCE = 500;

/** Events that this build cannot read are refused by the reader that needs them. */
const UNREADABLE: ReadonlySet<string> = new Set(['kind_known', 'payload_shape']);

/**
 * Reads a log up to a sequence number (null: all of it) with the natural keys of its events, and checks its chain, so that no changed
 * event is executed again or copied. Reads and parses part by part, so that a long log delays nothing else.
 * Throws `log_broken`, and the reason of the signal when the signal fires.
 */
export async function readKeyedEvents(
  db: Knex,
  runId: string,
  upTo: number | null,
  signal?: AbortSignal,
): Promise<KeyedEvent[]> {
  const log: KeyedEvent[] = [];
  const keys = new Map<string, string>();
  let check: LogCheck | null = null;
  const terms = {
    order: [{ column: 'seq', order: 'asc' as const }],
    bytes: 'coalesce(octet_length(data), 0)',
    limit: KEYED_AT_ONCE,
  };
  for (;;) {
    const query = db<EventRow>('holdfast.all_events').where({ run_id: runId }).select('*');
    query.whereRaw('seq > ?::bigint', [log.at(-1)?.seq ?? (upTo === null ? BEFORE_ALL : 0)]);
    if (upTo !== null) query.where('seq', '<=', upTo);
    const { rows, more } = await rowsOfPage<EventRow>(db, query, terms);
    if (log.length === 0) check = await checkOf(db, runId, rows[0]);
    for (const row of rows) {
      const event = loggedOf(row);
      const broken: Broken | null = check?.next(event) ?? null;
      if (broken !== null && !UNREADABLE.has(broken.invariant)) throw brokenLog(runId, broken);
      if (broken !== null) check = null;
      const { seq, kind, data, parentId } = event;
      keys.set(event.id, row.key);
      const keyed = { seq, key: row.key, parentKey: keys.get(parentId ?? '') ?? null, kind, data };
      // Parsing here keeps the parse of a long log in parts.
      isReadable(keyed);
      log.push(keyed);
      await breathe(signal);
    }
    if (!more) return log;
  }
}

/** A chain begins with the tenant of its run, which its first event repeats. */
async function checkOf(db: Knex, runId: string, first: EventRow | undefined): Promise<LogCheck | null> {
  if (first === undefined) return null;
  const key = await db<{ run_id: string; key: string }>('holdfast.run_keys').where({ run_id: runId }).first('key');
  return LogCheck.fromStart(runId, first.tenant, key?.key ?? null);
}

const brokenLog = (runId: string, { seq, what }: Broken): HoldfastError =>
  new HoldfastError('log_broken', `Event ${seq} of run ${runId} is broken: ${what}.`, {
    hint: `\`holdfast repair ${runId}\` says up to which event the log is whole, and goes on from there.`,
  });
