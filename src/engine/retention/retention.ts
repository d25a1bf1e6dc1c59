import type { Knex } from 'knex';
import { EXPORT_WORKFLOW } from '../../../workflows/export.js';
import { type Caller, mayOperate } from '../../core/caller.js';
import { HoldfastError } from '../../core/errors/errors.js';
import {
  type RetentionRule,
  type RetentionView,
  type RuleStatus,
  reasonOfRule,
  statusesOf,
  TRIMMED,
  type Trimmed,
} from '../../core/retention/retention.js';
import { SEGMENT_WORKFLOW } from '../../core/runs/run.js';
import {
  askedChores,
  askForChore,
  choreDueAt,
  endAskedChore,
  putOffChore,
  takeChore,
} from '../../storage/database/chores.js';
import { timeOrNull } from '../../storage/database/legible-rows.js';
import { compactFiles, isToCompact } from '../../storage/database/pglite/compact.js';
import { enterForgotten } from '../../storage/evidence/log-entries.js';
import { packNext } from '../../storage/log/packed-events.js';
import { EXPIRED } from '../../storage/memory/documents.js';
import { removeExpiredDocuments } from '../../storage/memory/erase.js';
import {
  countOfRule,
  countToTrim,
  type PlaceInRule,
  runsOfRule,
  trimRecordings,
  trimRows,
} from '../../storage/retention/retention.js';
import { removeEmptyBatches } from '../../storage/tasks/batches.js';
import { maintenanceWork, ofAll } from '../concurrency/repeated-work.js';
import { levelOfFailure } from '../concurrency/work-off.js';
import type { EngineContext } from '../engine-context.js';
import { eraseLocked, removeLocked } from './delete-run.js';

const EVERY_MS = 3_600_000;
/** For so long a worker has a chore: one that dies with it holds it up no longer. */
const TAKEN_MS = 60_000;

interface HourlyChore {
  readonly chore: string;
  /** As it is counted and told. */
  readonly name: string;
  readonly isStopping: () => boolean;
}

/** Does a chore of all tenants if it is due and no other worker has it. It is due again in an hour, or at once where it was stopped. */
async function hourlyChore(
  context: EngineContext,
  { chore, name, isStopping }: HourlyChore,
  work: () => Promise<void>,
): Promise<void> {
  const { knex } = context.stepContext;
  if (!(await takeChore(knex, chore, TAKEN_MS))) return;
  await maintenanceWork(context, ofAll(name), work);
  await putOffChore(knex, chore, isStopping() ? 0 : EVERY_MS);
}

const CHORE = 'retention';
/** Before the name of a tenant: what was asked for of it alone. */
const OF_TENANT = 'retention of ';
const ASKED_AT_ONCE = 20;
/** What is done before it is taken again. */
const RUNS_AT_ONCE = 50;
const ROWS_AT_ONCE = 500;
const COUNTED = 10_000;
const ACTOR = 'retention';
export const WORKFLOWS = [SEGMENT_WORKFLOW, EXPORT_WORKFLOW];

/**
 * Does what the configuration says of what is old, whenever it is due, one worker at a time and in small transactions: each is
 * done or not, whatever dies in between, and who comes next goes on with what is left.
 */
export async function retain(context: EngineContext, isStopping: () => boolean): Promise<void> {
  const { knex } = context.stepContext;
  await hourlyChore(context, { chore: CHORE, name: CHORE, isStopping }, () =>
    sweepOf(context, { chore: CHORE, tenant: null, isStopping }),
  );
  for (const { name, tenant } of await askedChores(knex, OF_TENANT, ASKED_AT_ONCE)) {
    if (isStopping() || !(await takeChore(knex, name, TAKEN_MS))) continue;
    await maintenanceWork(context, { tenant, name }, () => sweepOf(context, { chore: name, tenant, isStopping }));
    await (isStopping() ? putOffChore(knex, name, 0) : endAskedChore(knex, name));
  }
}

interface Sweep {
  readonly chore: string;
  /** Null: of all tenants. */
  readonly tenant: string | null;
  readonly isStopping: () => boolean;
}

async function sweepOf(context: EngineContext, sweep: Sweep): Promise<void> {
  const { retention } = context;
  const { knex } = context.stepContext;
  const { chore: name, tenant, isStopping } = sweep;
  for (const rule of rulesOf(retention.runs, tenant))
    for (const status of statusesOf(rule))
      await followRule(context, { ...rule, status, ...(tenant === null ? {} : { tenant }) }, sweep);
  while (!isStopping() && (await removeEmptyBatches(knex, { tenant, limit: ROWS_AT_ONCE })) === ROWS_AT_ONCE)
    await putOffChore(knex, name, TAKEN_MS);
  while (!isStopping() && (await forgetExpired(knex, tenant)) === ROWS_AT_ONCE) await putOffChore(knex, name, TAKEN_MS);
  for (const what of TRIMMED) {
    const days = retention.days[what];
    if (days === null || !isTrimmedOf(what, tenant)) continue;
    const trimming = { days, tenant, limit: ROWS_AT_ONCE, workflows: WORKFLOWS };
    const trim = () => (what === 'recordings' ? trimRecordings(knex, trimming) : trimRows(knex, what, trimming));
    while (!isStopping() && (await trim()) === ROWS_AT_ONCE) await putOffChore(knex, name, TAKEN_MS);
  }
}

/** Removes documents of memory whose time is over, and enters that into the log over all runs. Gives how many went. */
const forgetExpired = (knex: Knex, tenant: string | null): Promise<number> =>
  knex.transaction(async (trx) => {
    const gone = await removeExpiredDocuments(trx, { tenant, limit: ROWS_AT_ONCE });
    await enterForgotten(trx, gone, EXPIRED);
    return gone.length;
  });

/** The rules that take runs of a tenant, or of any (null). */
const rulesOf = (rules: readonly RetentionRule[], tenant: string | null): readonly RetentionRule[] =>
  tenant === null ? rules : rules.filter((rule) => (rule.tenant ?? tenant) === tenant);

/** Events of the system go in the order of all tenants. */
const isTrimmedOf = (what: Trimmed, tenant: string | null): boolean => tenant === null || what !== 'systemEvents';

async function followRule(
  context: EngineContext,
  rule: RetentionRule & RuleStatus,
  { chore: name, isStopping }: Sweep,
): Promise<void> {
  const { knex } = context.stepContext;
  let gone = 0;
  let after: PlaceInRule | null = null;
  while (!isStopping()) {
    const due: PlaceInRule[] = await runsOfRule(knex, rule, after, RUNS_AT_ONCE);
    for (const { id } of due) {
      if (isStopping()) break;
      if (await letGo(context, id, rule)) gone++;
    }
    after = due.at(-1) ?? after;
    if (due.length < RUNS_AT_ONCE) break;
    await putOffChore(knex, name, TAKEN_MS);
  }
  if (gone > 0)
    context.log.info(
      { component: 'retention', event: 'runs_gone', runs: gone, rule: reasonOfRule(rule) },
      'runs went by retention',
    );
}

/** False: it could not go yet. It is looked at again the next time. */
async function letGo(context: EngineContext, id: string, rule: RetentionRule): Promise<boolean> {
  const by = { actor: ACTOR, reason: reasonOfRule(rule), keepsMemory: true };
  const work = rule.do === 'erase' ? eraseLocked : removeLocked;
  try {
    const outcome = await context.stepContext.knex.transaction((trx) => work(trx, id, by));
    if (typeof outcome === 'string') return false;
    context.changes.announce(id);
    return true;
  } catch (error) {
    // A run above it, or a fork of that, still works and may read its result. One that fails otherwise holds up no other.
    if (!(error instanceof HoldfastError && error.code === 'run_not_over'))
      context.log[levelOfFailure(error)](
        { component: 'retention', event: 'run_kept', runId: id, error: String(error) },
        'a run could not go by retention; it is tried again',
      );
    return false;
  }
}

/** Whose rows are meant: those of the caller's tenant, or of all tenants, which takes a role in the installation. */
export type RetentionOf = 'tenant' | 'installation';

/** Throws `forbidden`. */
function assertMay(caller: Caller, of: RetentionOf, role: Parameters<typeof mayOperate>[1]): void {
  if (of === 'installation' && !mayOperate(caller, role)) throw notOperating(caller);
}

/** What would go now. Nothing goes. Throws `forbidden`. */
export async function previewRetention(
  context: EngineContext,
  caller: Caller,
  of: RetentionOf = 'tenant',
): Promise<RetentionView> {
  const { knex } = context.stepContext;
  const tenant = of === 'tenant' ? caller.tenant : null;
  assertMay(caller, of, 'viewer');
  const counted = (n: number) => ({ count: Math.min(n, COUNTED), atLeast: n > COUNTED });
  const runs: RetentionView['runs'] = [];
  for (const rule of rulesOf(context.retention.runs, tenant))
    runs.push({ rule, ...counted(await countOfRule(knex, rule, tenant, COUNTED + 1)) });
  const trimmed: RetentionView['trimmed'] = [];
  for (const what of TRIMMED) {
    const olderThanDays = context.retention.days[what];
    if (olderThanDays === null || !isTrimmedOf(what, tenant)) continue;
    const trimming = { days: olderThanDays, tenant, limit: COUNTED + 1, workflows: WORKFLOWS };
    trimmed.push({ what, olderThanDays, ...counted(await countToTrim(knex, what, trimming)) });
  }
  return { runs, trimmed, nextAt: timeOrNull(await choreDueAt(knex, CHORE)) };
}

/** Makes it due now: a worker begins with it within seconds. Throws `forbidden`. */
export async function askForRetention(
  context: EngineContext,
  caller: Caller,
  of: RetentionOf = 'tenant',
): Promise<RetentionView> {
  const { knex } = context.stepContext;
  assertMay(caller, of, 'operator');
  await (of === 'installation'
    ? putOffChore(knex, CHORE, 0)
    : askForChore(knex, `${OF_TENANT}${caller.tenant}`, caller.tenant));
  return previewRetention(context, caller, of);
}

const notOperating = ({ actor }: Caller): HoldfastError =>
  new HoldfastError(
    'forbidden',
    `This is of all tenants; the role of ${actor} in the installation does not allow it.`,
    {
      hint: 'Give the caller `installation: "operator"`.',
    },
  );

/** The embedded database works in this process: a larger table would keep it from everything else for too long. */
const TABLE_MAX_BYTES = 64 * 1024 * 1024;

/** Where the database is embedded: takes what was erased or removed out of its files. */
export async function compactErased(context: EngineContext, isStopping: () => boolean): Promise<void> {
  const { database, stepContext } = context;
  if (database.kind !== 'pglite' || !(await isToCompact(stepContext.knex))) return;
  await maintenanceWork(context, ofAll('compaction'), () => compact(context, isStopping));
}

async function compact({ stepContext, log }: EngineContext, isStopping: () => boolean): Promise<void> {
  const left = await compactFiles(stepContext.knex, { maxBytes: TABLE_MAX_BYTES, isStopping });
  if (left === null) return;
  const what = { component: 'erasure', event: 'compacted', left };
  if (left.length === 0) log.info(what, 'the files of the database were compacted after an erasure');
  else
    log.warn(
      what,
      'tables of the database are too large to be compacted beside the work: stop the server and run `holdfast compact`',
    );
}

const PACKING = 'pack';
const PACKED_AT_ONCE = 20;
const DAY_MS = 86_400_000;

/** Packs the logs of runs that were over long enough, whenever it is due, one worker at a time and in small transactions. */
export async function packLogs(context: EngineContext, isStopping: () => boolean): Promise<void> {
  const { packLogsDays: days } = context.retention;
  if (days === null) return;
  await hourlyChore(context, { chore: PACKING, name: 'packing of logs', isStopping }, async () => {
    const { knex } = context.stepContext;
    let runs = 0;
    let events = 0;
    for (let more = true; more && !isStopping(); ) {
      const packed = await packNext(knex, days * DAY_MS, PACKED_AT_ONCE);
      runs += packed.runs;
      events += packed.events;
      more = packed.more;
      await putOffChore(knex, PACKING, TAKEN_MS);
    }
    if (runs > 0)
      context.log.info(
        { component: 'retention', event: 'logs_packed', runs, events },
        'events of runs that were over long ago were packed',
      );
  });
}
