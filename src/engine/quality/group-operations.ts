import type { Caller } from '../../core/caller.js';
import { fieldErrorsOf, invalidRequest } from '../../core/field-errors.js';
import { usdOf } from '../../core/money.js';
import { type Comparison, compareShares, holm, type Sample, welch } from '../../core/quality/comparison.js';
import { type PassQuery, type PassRates, passQuery, RATED_TASKS_MOST, ratesOf } from '../../core/quality/pass-rates.js';
import {
  type DriftQuery,
  driftQuery,
  type GroupQuery,
  groupQuery,
  type Measured,
  TASK_MEASURES,
  type TaskDrift,
  type TaskGroup,
  type TaskGroups,
} from '../../core/quality/task-groups.js';
import { BATCH_COUNTED_MOST } from '../../core/tasks/batch.js';
import { passRateOf } from '../../core/tasks/pass-rate.js';
import { atOneMoment } from '../../storage/database/transactions.js';
import {
  attemptedRows,
  type GroupRow,
  groupTaskRows,
  rewardSignals,
  type Signal,
} from '../../storage/quality/task-groups.js';
import type { EngineContext } from '../engine-context.js';

async function getPassRates({ stepContext }: EngineContext, query: PassQuery, { tenant }: Caller): Promise<PassRates> {
  const parsed = passQuery.safeParse(query);
  if (!parsed.success) throw invalidRequest(fieldErrorsOf(parsed.error));
  const { k, ...filter } = parsed.data;
  const rows = await attemptedRows(stepContext.knex, tenant, { ...filter, limit: RATED_TASKS_MOST + 1 });
  const items = ratesOf(rows.slice(0, RATED_TASKS_MOST), k.split(',').map(Number));
  return { items, truncated: rows.length > RATED_TASKS_MOST };
}

const groupOf = (
  { name, tasks, ended, passed, unpriced, measures, nano_usd: nanoUsd }: GroupRow,
  signals: readonly Signal[] = [],
): TaskGroup => ({
  ...{ name, tasks, ended, passed, passRate: passRateOf(passed, ended) },
  ...{ meanReward: measures.reward.mean, meanTurns: measures.turns.mean, costUsd: usdOf(BigInt(nanoUsd)), unpriced },
  ...{ measures, signals: [...signals] },
});

/** Groups at one moment, with whether there are more tasks than were looked at. */
const readGroups = (
  { stepContext: { knex } }: EngineContext,
  asked: GroupQuery & { readonly only?: readonly string[] },
  { tenant }: Caller,
): Promise<TaskGroups> =>
  atOneMoment(knex, async (trx) => {
    const { rows, looked } = await groupTaskRows(trx, { ...asked, tenant });
    const signals = await rewardSignals(trx, { ...asked, tenant });
    return { items: rows.map((row) => groupOf(row, signals.get(row.name))), atLeast: looked > BATCH_COUNTED_MOST };
  });

/** Tasks by something that they have, with how they did. */
async function groupTasks(context: EngineContext, query: GroupQuery, caller: Caller): Promise<TaskGroups> {
  const parsed = groupQuery.safeParse(query);
  if (!parsed.success) throw invalidRequest(fieldErrorsOf(parsed.error));
  return readGroups(context, parsed.data, caller);
}

const sampleOf = ({ n, mean, variance }: Measured): Sample | null =>
  mean === null || variance === null ? null : { n, mean, variance };

/** What both groups have a sample of. */
function comparisonsOf(before: TaskGroup, after: TaskGroup): readonly Comparison[] {
  const passed =
    before.ended === 0 || after.ended === 0
      ? []
      : [
          {
            measure: 'passed',
            ...compareShares({ n: before.ended, passed: before.passed }, { n: after.ended, passed: after.passed }),
          },
        ];
  const means = TASK_MEASURES.flatMap((measure) => {
    const [one, other] = [sampleOf(before.measures[measure]), sampleOf(after.measures[measure])];
    return one === null || other === null ? [] : [{ measure, ...welch(one, other) }];
  });
  return holm([...passed, ...means]);
}

/** Compares two groups of tasks. Throws `invalid_request`. */
async function compareTaskGroups(context: EngineContext, query: DriftQuery, caller: Caller): Promise<TaskDrift> {
  const parsed = driftQuery.safeParse(query);
  if (!parsed.success) throw invalidRequest(fieldErrorsOf(parsed.error));
  const { before, after, ...asked } = parsed.data;
  const { items, atLeast } = await readGroups(context, { ...asked, only: [before, after] }, caller);
  const [one = null, other = null] = [before, after].map((name) => items.find((item) => item.name === name));
  const measures = one === null || other === null ? [] : [...comparisonsOf(one, other)];
  const drifted = measures.some((measure) => measure.drifted);
  return { by: asked.by, before: one, after: other, measures, drifted, atLeast };
}

/** How tasks did, in numbers. */
export const QUALITY_OPERATIONS = {
  /** The newest tasks that fit, grouped by something that they have. Throws `invalid_request`. */
  groupTasks,
  /** Whether two groups of tasks did otherwise than by chance. Throws `invalid_request`. */
  compareTaskGroups,
  /** How often each agent passes tasks, by agents. Throws `invalid_request`. */
  getPassRates,
};
