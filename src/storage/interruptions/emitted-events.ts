import type { Knex } from 'knex';
import type { EmittedEvent } from '../../core/interruptions/emitted-event.js';
import { canonical, type JsonValue, jsonValue } from '../../core/json.js';
import { viewOfRow } from '../database/legible-rows.js';
import { readJson } from '../database/stored-json.js';
import type { InterruptionRow } from './interruption-rows.js';
import { eventMatches } from './interruptions.js';

export interface EmittedEventRow {
  tenant: string;
  id: string;
  name: string;
  key: string | null;
  run_id: string | null;
  payload: string;
  digest: string;
  actor: string;
  status: 'kept' | 'delivered';
  delivered: number;
  emitted_at: Date;
  expires_at: Date;
}

const events = (db: Knex) => db<EmittedEventRow>('holdfast.emitted_events');

export const payloadOf = ({ id, payload }: EmittedEventRow): JsonValue =>
  readJson(jsonValue, payload, { table: 'emitted_events', row: id, column: 'payload' });

/**
 * Lets one transaction at a time match waits and events of a name, so that neither side misses the other. To be taken before
 * the row of any run is locked, and names in the order of their letters.
 */
export async function lockEventName(trx: Knex.Transaction, tenant: string, name: string): Promise<void> {
  await trx.raw('select pg_advisory_xact_lock(hashtextextended(?, 0))', [`holdfast:event:${tenant}:${name}`]);
}

export const findEmittedEvent = (db: Knex, tenant: string, id: string): Promise<EmittedEventRow | undefined> =>
  events(db).where({ tenant, id }).first();

export interface NewEmittedEvent {
  readonly tenant: string;
  readonly id: string;
  readonly name: string;
  readonly key: string | null;
  readonly runId: string | null;
  readonly payload: JsonValue;
  readonly digest: string;
  readonly actor: string;
  readonly delivered: number;
  readonly emittedAt: Date;
  readonly expiresAt: Date;
}

/** False: there is one of this id. */
export async function insertEmittedEvent(trx: Knex.Transaction, it: NewEmittedEvent): Promise<boolean> {
  const { tenant, id, name, key, digest, actor, delivered } = it;
  const inserted = await events(trx)
    .insert({
      ...{ tenant, id, name, key, digest, actor, delivered, run_id: it.runId, payload: canonical(it.payload) },
      ...{ emitted_at: it.emittedAt, expires_at: it.expiresAt },
      status: delivered > 0 ? 'delivered' : 'kept',
    })
    .onConflict(['tenant', 'id'])
    .ignore()
    .returning('id');
  return inserted.length > 0;
}

/** Waits that an event may settle, in the order in which their runs are locked. */
export const waitsForEvent = async (
  trx: Knex.Transaction,
  { tenant, name, key, runId }: Pick<NewEmittedEvent, 'tenant' | 'name' | 'key' | 'runId'>,
): Promise<InterruptionRow[]> =>
  trx<InterruptionRow>('holdfast.interruptions')
    .where({ tenant, status: 'pending', ...(runId === null ? {} : { run_id: runId }) })
    .whereIn('event_name', [name, ...(key === null ? [] : [eventMatches(name, key)])])
    .orderBy(['run_id', 'id']);

/** Takes the oldest kept event that a wait matches. Under the lock of its name. */
export async function takeKeptEvent(
  trx: Knex.Transaction,
  wait: { readonly tenant: string; readonly runId: string; readonly name: string; readonly key: string | null },
  now: Date,
): Promise<EmittedEventRow | null> {
  const row = await events(trx)
    .where({ tenant: wait.tenant, status: 'kept', name: wait.name, ...(wait.key === null ? {} : { key: wait.key }) })
    .where('expires_at', '>', now)
    .where((either) => either.whereNull('run_id').orWhere('run_id', wait.runId))
    .orderBy(['emitted_at', 'id'])
    .first();
  if (row === undefined) return null;
  await events(trx).where({ tenant: row.tenant, id: row.id }).update({ status: 'delivered', delivered: 1 });
  return row;
}

/** How many events are kept of a name, and of all names. */
export async function countKeptEvents(
  trx: Knex.Transaction,
  tenant: string,
  name: string,
): Promise<{ readonly ofName: number; readonly ofTenant: number }> {
  const count = async (where: Partial<EmittedEventRow>): Promise<number> => {
    const [row] = await events(trx)
      .where({ tenant, status: 'kept', ...where })
      .count({ n: '*' });
    return Number(row?.['n'] ?? 0);
  };
  return { ofName: await count({ name }), ofTenant: await count({}) };
}

/** Forgets events whose time is over. */
export async function dropExpiredEvents(db: Knex, now: Date, limit: number): Promise<number> {
  const due = await events(db).where('expires_at', '<=', now).orderBy('expires_at').limit(limit).select('tenant', 'id');
  if (due.length === 0) return 0;
  return events(db)
    .where('expires_at', '<=', now)
    .whereIn(
      ['tenant', 'id'],
      due.map((row) => [row.tenant, row.id]),
    )
    .delete();
}

export const emittedEventOf = (stored: EmittedEventRow): EmittedEvent =>
  viewOfRow(stored, { table: 'emitted_events', row: stored.id }, shownEvent);

const shownEvent = (row: EmittedEventRow): EmittedEvent => ({
  ...{ id: row.id, name: row.name, key: row.key, runId: row.run_id, status: row.status, delivered: row.delivered },
  ...{ emittedAt: row.emitted_at.toISOString(), expiresAt: row.expires_at.toISOString() },
});
