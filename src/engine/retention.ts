import { SEGMENT_WORKFLOW } from '../../workflows/agent-run.js';
import { EXPORT_WORKFLOW } from '../../workflows/export-run.js';
import type { Caller } from '../core/caller.js';
import { HoldfastError } from '../core/errors.js';
import {
  type RetentionRule,
  type RetentionView,
  type RuleStatus,
  reasonOfRule,
  statusesOf,
  TRIMMED,
} from '../core/retention.js';
import { choreDueAt, putOffChore, takeChore } from '../storage/chores.js';
import {
  countToTrim,
  countUnder,
  type PlaceInRule,
  runsUnder,
  trimRecordings,
  trimRows,
} from '../storage/retention.js';
import { eraseLocked, removeLocked } from './erase-locked.js';
import type { Parts } from './parts.js';

const CHORE = 'retention';
const EVERY_MS = 3_600_000;
/** For so long a worker has the chore: one that dies with it holds it up no longer. */
const TAKEN_MS = 60_000;
/** What is done before it is taken anew. */
const RUNS_AT_ONCE = 50;
const ROWS_AT_ONCE = 500;
const COUNTED = 10_000;
const ACTOR = 'retention';
const WORKFLOWS = [SEGMENT_WORKFLOW, EXPORT_WORKFLOW];

/**
 * Does what the configuration says of what is old, whenever it is due, one worker at a time and in small transactions: each is
 * done or not, whatever dies in between, and who comes next goes on with what is left.
 */
export async function retain(parts: Parts, isStopping: () => boolean): Promise<void> {
  const { retention } = parts;
  const { knex } = parts.world;
  if (!(await takeChore(knex, CHORE, TAKEN_MS))) return;
  for (const rule of retention.runs)
    for (const status of statusesOf(rule)) await followRule(parts, { ...rule, status }, isStopping);
  for (const what of TRIMMED) {
    const days = retention.days[what];
    if (days === null) continue;
    const trimming = { days, limit: ROWS_AT_ONCE, workflows: WORKFLOWS };
    const trim = () => (what === 'recordings' ? trimRecordings(knex, trimming) : trimRows(knex, what, trimming));
    while (!isStopping() && (await trim()) === ROWS_AT_ONCE) await putOffChore(knex, CHORE, TAKEN_MS);
  }
  await putOffChore(knex, CHORE, isStopping() ? 0 : EVERY_MS);
}

async function followRule(parts: Parts, rule: RetentionRule & RuleStatus, isStopping: () => boolean): Promise<void> {
  const { knex } = parts.world;
  let gone = 0;
  let after: PlaceInRule | null = null;
  while (!isStopping()) {
    const due: PlaceInRule[] = await runsUnder(knex, rule, after, RUNS_AT_ONCE);
    for (const { id } of due) {
      if (isStopping()) break;
      if (await letGo(parts, id, rule)) gone++;
    }
    after = due.at(-1) ?? after;
    if (due.length < RUNS_AT_ONCE) break;
    await putOffChore(knex, CHORE, TAKEN_MS);
  }
  if (gone > 0)
    parts.log.info(
      { component: 'retention', event: 'runs_gone', runs: gone, rule: reasonOfRule(rule) },
      'runs went by retention',
    );
}

/** False: it could not go yet. It is looked at again the next time. */
async function letGo(parts: Parts, id: string, rule: RetentionRule): Promise<boolean> {
  const by = { actor: ACTOR, reason: reasonOfRule(rule) };
  const work = rule.do === 'erase' ? eraseLocked : removeLocked;
  try {
    const outcome = await parts.world.knex.transaction((trx) => work(trx, id, by));
    if (typeof outcome === 'string') return false;
    parts.changes.announce(id);
    return true;
  } catch (error) {
    // A run above it, or a fork of that, still works and may read its result. One that fails otherwise holds up no other.
    if (!(error instanceof HoldfastError && error.code === 'run_not_over'))
      parts.log.warn(
        { component: 'retention', event: 'run_kept', runId: id, error: String(error) },
        'a run could not go by retention; it is tried again',
      );
    return false;
  }
}

/** What would go now, of the caller's tenant. Nothing goes. */
export async function previewRetention(parts: Parts, { tenant }: Caller): Promise<RetentionView> {
  const { knex } = parts.world;
  const counted = (n: number) => ({ count: Math.min(n, COUNTED), atLeast: n > COUNTED });
  const runs: RetentionView['runs'] = [];
  for (const rule of parts.retention.runs)
    runs.push({ rule, ...counted(await countUnder(knex, rule, tenant, COUNTED + 1)) });
  const trimmed: RetentionView['trimmed'] = [];
  for (const what of TRIMMED) {
    const olderThanDays = parts.retention.days[what];
    if (olderThanDays === null) continue;
    const trimming = { days: olderThanDays, limit: COUNTED + 1, workflows: WORKFLOWS };
    trimmed.push({ what, olderThanDays, ...counted(await countToTrim(knex, what, tenant, trimming)) });
  }
  return { runs, trimmed, nextAt: (await choreDueAt(knex, CHORE))?.toISOString() ?? null };
}

/** Makes it due now: a worker begins with it within seconds. */
export async function askForRetention(parts: Parts, caller: Caller): Promise<RetentionView> {
  await putOffChore(parts.world.knex, CHORE, 0);
  return previewRetention(parts, caller);
}
