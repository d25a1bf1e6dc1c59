import type { Knex } from 'knex';
import { type AlertMeasure, type AlertRule, TASKS_MOST } from '../../core/agents/alert-rules.js';
import type { AlertStanding, AlertState } from '../../core/quality/alert.js';
import { whereSame } from '../database/columns.js';
import { appendSystemEvent } from '../ops/system-events.js';

/** A row of `holdfast.alerts` as the driver gives it. */
export interface AlertRow {
  tenant: string;
  name: string;
  state: AlertState;
  since: Date;
  right_since: Date | null;
  told: 'ok' | 'firing';
  told_times: number;
  value: number | null;
  compared: number | null;
  tasks: number | null;
  evaluated_at: Date | null;
  next_at: Date;
  silenced_until: Date | null;
  silenced_by: string | null;
  silence_reason: string | null;
}

type Named = Pick<AlertRow, 'tenant' | 'name'>;
type Timed = Named & Pick<AlertRule, 'everySeconds'>;

/** A rule that now has a shorter `everySeconds` does not wait for the time that the longer one gave it. */
const isDue = (everySeconds: string): string =>
  `(next_at <= now() or next_at > now() + ${everySeconds} * interval '1 second')`;

const alerts = (db: Knex) => db<AlertRow>('holdfast.alerts');

/** Rules that a worker has to look at by the clock of the database, and those that no worker has looked at yet. */
export async function dueAlerts(db: Knex, rules: readonly Timed[]): Promise<readonly Named[]> {
  if (rules.length === 0) return [];
  const { rows }: { rows: Named[] } = await db.raw(
    `select r.tenant, r.name from json_to_recordset(?::json) r(tenant text, name text, every_s float8)
       left join holdfast.alerts a on a.tenant = r.tenant and a.name = r.name
      where next_at is null or ${isDue('every_s')} order by next_at nulls first`,
    [JSON.stringify(rules.map(({ tenant, name, everySeconds }) => ({ tenant, name, every_s: everySeconds })))],
  );
  return rows;
}

/** Locks the row of an alert that is due, with the time of the database; undefined: another worker has it, or it is not due. */
export async function holdDueAlert(
  trx: Knex.Transaction,
  { tenant, name, everySeconds }: Timed,
): Promise<(AlertRow & { readonly now: Date }) | undefined> {
  await trx.raw('insert into holdfast.alerts (tenant, name) values (?, ?) on conflict do nothing', [tenant, name]);
  return alerts(trx)
    .where({ tenant, name })
    .whereRaw(isDue('?::float8'), [everySeconds])
    .forUpdate()
    .skipLocked()
    .first('*', trx.raw('now() as now'));
}

const MEASURED: Readonly<Record<AlertMeasure, string>> = {
  tasks: 'count(t.id)::float8',
  passRate: 'avg(coalesce(t.verification_passed, false)::int::float8)',
  errorRate: `avg((t.result_type = 'error')::int::float8)`,
  timeoutRate: `avg((t.result_type = 'timeout')::int::float8)`,
  reward: 'avg(coalesce(t.reward, 0))',
  quality: 'avg(x.quality)',
  diversity: 'avg(x.diversity)',
  turns: 'avg(r.turns)::float8',
  tokens: 'avg(r.total_tokens + r.child_total_tokens)::float8',
  activeMs: 'avg(r.active_ms)::float8',
  usd: '(avg(r.cost_nano_usd + r.child_cost_nano_usd) / 1e9)::float8',
};

/** A look that takes longer is given up, and made again when the rule is due. */
const TIMEOUT = `set local statement_timeout = '5s'`;

export interface MeasuredWindow {
  readonly tasks: number;
  readonly value: number | null;
}

/** What a rule measures of each of its windows up to now, the last one first. */
export async function measureWindows(
  trx: Knex.Transaction,
  { tenant, measure, only, windowMinutes }: AlertRule,
  windows: number,
): Promise<readonly MeasuredWindow[]> {
  await trx.raw(TIMEOUT);
  const ended = trx('holdfast.tasks as t')
    .select('t.*', trx.raw(`floor(extract(epoch from now() - t.completed_at) / ?)::int as at`, [windowMinutes * 60]))
    .whereIn('t.status', ['completed', 'failed'])
    .whereRaw(`t.completed_at > now() - ? * interval '1 minute' and t.completed_at <= now()`, [windows * windowMinutes])
    .orderBy(['t.completed_at', 't.id'].map((column) => ({ column, order: 'desc' as const })))
    .limit(TASKS_MOST);
  whereSame(ended, 't', { tenant, ...only });
  const { rows }: { rows: MeasuredWindow[] } = await trx.raw(
    `with t as (?)
     select count(t.id)::int as tasks, ${MEASURED[measure]} as value
       from generate_series(0, ?::int - 1) w(at) left join t on t.at = w.at
       left join holdfast.runs r on r.id = t.run_id left join holdfast.trajectories x on x.run_id = t.run_id
      group by w.at order by w.at`,
    [ended, windows],
  );
  return rows;
}

interface Evaluation extends AlertStanding {
  readonly value: number | null;
  readonly compared: number | null;
  readonly tasks: number;
}

/** Keeps what a look found, and tells it where it is something else than was told last and the alert is not silenced. */
export async function keepEvaluation(
  trx: Knex.Transaction,
  row: AlertRow & { readonly now: Date },
  { everySeconds, measure }: Pick<AlertRule, 'everySeconds' | 'measure'>,
  { state, sinceMs, rightSinceMs, value, compared, tasks }: Evaluation,
): Promise<void> {
  const { tenant, name, now } = row;
  const isSilent = row.silenced_until !== null && row.silenced_until > now;
  const tell = !isSilent && (state === 'firing') !== (row.told === 'firing');
  const told = tell ? (state === 'firing' ? 'firing' : 'ok') : row.told;
  await alerts(trx)
    .where({ tenant, name })
    .update({
      ...{ state, since: new Date(sinceMs), right_since: rightSinceMs === null ? null : new Date(rightSinceMs) },
      ...{ told, told_times: row.told_times + (tell ? 1 : 0), value, compared, tasks, evaluated_at: now },
      next_at: new Date(now.getTime() + everySeconds * 1000),
    });
  if (!tell) return;
  const key = `alert ${tenant} ${name} ${row.told_times + 1}`;
  await appendSystemEvent(trx, { kind: 'alert.changed', tenant, key, data: { name, state: told, measure, value } });
}

/** Leaves a rule that could not be looked at until it is due again: a look that fails each time would be made without a pause. */
export async function postponeAlert(db: Knex, { tenant, name, everySeconds }: Timed): Promise<void> {
  await db.raw(
    `insert into holdfast.alerts (tenant, name, next_at) values (?, ?, now() + ? * interval '1 second')
     on conflict (tenant, name) do update set next_at = excluded.next_at`,
    [tenant, name, everySeconds],
  );
}

/** The alerts of a tenant that were looked at, by their names. */
export async function readAlerts(db: Knex, tenant: string): Promise<ReadonlyMap<string, AlertRow & { now: Date }>> {
  const rows: (AlertRow & { now: Date })[] = await alerts(db).where({ tenant }).select('*', db.raw('now() as now'));
  return new Map(rows.map((row) => [row.name, row]));
}

/** Has no event tell of an alert for so many minutes; 0: from now on events tell of it. */
export async function setSilence(
  db: Knex,
  { tenant, name }: Named,
  { minutes, actor, reason }: { readonly minutes: number; readonly actor: string; readonly reason: string },
): Promise<void> {
  await db.raw(
    `insert into holdfast.alerts as a (tenant, name, silenced_until, silenced_by, silence_reason)
     values (?, ?, now() + ? * interval '1 minute', ?, ?)
     on conflict (tenant, name) do update set silenced_until = excluded.silenced_until,
       silenced_by = excluded.silenced_by, silence_reason = excluded.silence_reason`,
    [tenant, name, minutes, actor, reason],
  );
}
