import type { Knex } from 'knex';
import type { UnreadableItem } from '../../core/page.js';
import { legibleRows, viewOfRow } from '../database/legible-rows.js';

/** How far webhooks were told. Times are those of the database. */

/** So long a worker has a webhook to itself after each event that it tells. */
const HELD = `interval '60 seconds'`;

type Named = { readonly tenant: string; readonly name: string };

/**
 * Names of webhooks that have events before them and may be told now, and of those that failed last: of these the next event may
 * have been given up. One that is new begins after the present events.
 */
export async function dueWebhooks(db: Knex, webhooks: readonly Named[]): Promise<ReadonlySet<string>> {
  if (webhooks.length === 0) return new Set();
  const { rows }: { rows: { name: string }[] } = await db.raw(
    `with given as (select * from json_to_recordset(?::json) g(tenant text, name text)),
          made as (
            insert into holdfast.webhooks (tenant, name, position)
            select g.tenant, g.name, h.position from given g cross join holdfast.system_event_head h
             where not exists (select from holdfast.webhooks w where w.name = g.name)
            on conflict do nothing)
     select w.name from holdfast.webhooks w join given g using (name) cross join holdfast.system_event_head h
      where (h.position > w.position or w.problem is not null) and w.due_at <= now() and (w.held_until is null or w.held_until <= now())`,
    [JSON.stringify(webhooks.map(({ tenant, name }) => ({ tenant, name })))],
  );
  return new Set(rows.map(({ name }) => name));
}

/** Where a worker goes on that took a webhook. */
export interface WebhookPlace {
  readonly position: number;
  /** How often the next event failed by now. */
  readonly tries: number;
}

/** Takes a webhook that is due; null: another worker has it. */
export async function takeWebhook(db: Knex, name: string, holder: string): Promise<WebhookPlace | null> {
  const { rows }: { rows: { position: string; tries: number }[] } = await db.raw(
    `update holdfast.webhooks set holder = ?, held_until = now() + ${HELD}
      where name = ? and due_at <= now() and (held_until is null or held_until <= now()) returning position, tries`,
    [holder, name],
  );
  const [row] = rows;
  return row === undefined ? null : { position: Number(row.position), tries: row.tries };
}

/** Says that a webhook was told up to a place: of the event there, or of none. False: another worker has it by now. */
export async function webhookTold(
  db: Knex,
  name: string,
  holder: string,
  { position, delivered }: { readonly position: number; readonly delivered: boolean },
): Promise<boolean> {
  const { rowCount }: { rowCount: number } = await db.raw(
    `update holdfast.webhooks
        set position = greatest(position, ?), tries = 0, failing_since = null, problem = null, held_until = now() + ${HELD},
            delivered = delivered + ?::int, delivered_at = case when ? then now() else delivered_at end
      where name = ? and holder = ?`,
    [position, delivered ? 1 : 0, delivered, name, holder],
  );
  return rowCount === 1;
}

/** Says that an event could not be told, and up to where no one tries any more. Lets any worker take the webhook. */
export async function webhookFailed(
  db: Knex,
  name: string,
  holder: string,
  {
    position,
    waitS,
    problem,
    lost,
  }: { readonly position: number; readonly waitS: number; readonly problem: string; readonly lost: number },
): Promise<void> {
  await db.raw(
    `update holdfast.webhooks
        set position = greatest(position, ?), tries = tries + 1, due_at = now() + ? * interval '1 second', problem = ?,
            failing_since = coalesce(failing_since, now()), given_up = given_up + ?::int, holder = null, held_until = null
      where name = ? and holder = ?`,
    [position, waitS, problem, lost, name, holder],
  );
}

/** Lets any worker take a webhook again. */
export async function releaseWebhook(db: Knex, name: string, holder: string): Promise<void> {
  await db.raw('update holdfast.webhooks set holder = null, held_until = null where name = ? and holder = ?', [
    name,
    holder,
  ]);
}

/** How a webhook was told by now. */
export interface ToldWebhook {
  readonly delivered: number;
  readonly deliveredAt: string | null;
  readonly givenUp: number;
  /** Events of the system after its place, also those of other kinds. */
  readonly behind: number;
  readonly tries: number;
  readonly failingSince: string | null;
  readonly problem: string | null;
  readonly nextTryAt: string | null;
}

interface ToldRow {
  readonly name: string;
  readonly delivered: string;
  readonly delivered_at: Date | null;
  readonly given_up: string;
  readonly behind: string;
  readonly tries: number;
  readonly failing_since: Date | null;
  readonly problem: string | null;
  readonly due_at: Date;
}

/** Those of these webhooks that a worker has looked at, by name, and those whose row cannot be read. */
export async function toldWebhooks(
  db: Knex,
  names: readonly string[],
): Promise<{ readonly told: ReadonlyMap<string, ToldWebhook>; readonly unreadable?: readonly UnreadableItem[] }> {
  const { rows }: { rows: ToldRow[] } = await db.raw(
    `select w.name, w.delivered, w.delivered_at, w.given_up, greatest(h.position - w.position, 0) as behind, w.tries,
            w.failing_since, w.problem, w.due_at
       from holdfast.webhooks w cross join holdfast.system_event_head h where w.name = any(?)`,
    [[...names]],
  );
  const { items, ...unreadable } = legibleRows(rows, ({ name }) => name, toldOf);
  return { told: new Map(items), ...unreadable };
}

const toldOf = (shown: ToldRow): [string, ToldWebhook] =>
  viewOfRow(shown, { table: 'webhooks', row: shown.name }, (row) => [
    row.name,
    {
      ...{ delivered: Number(row.delivered), deliveredAt: row.delivered_at?.toISOString() ?? null },
      ...{ givenUp: Number(row.given_up), behind: Number(row.behind), tries: row.tries, problem: row.problem },
      failingSince: row.failing_since?.toISOString() ?? null,
      nextTryAt: row.problem === null ? null : row.due_at.toISOString(),
    },
  ]);

/** How many of these webhooks fail for so long. */
export async function failingWebhooks(db: Knex, names: readonly string[], seconds: number): Promise<number> {
  const { rows }: { rows: { failing: number }[] } = await db.raw(
    `select count(*)::int as failing from holdfast.webhooks
      where name = any(?) and failing_since <= now() - ? * interval '1 second'`,
    [[...names], seconds],
  );
  return rows[0]?.failing ?? 0;
}
