import type { Caller } from '../../core/caller.js';
import { fieldErrorsOf, invalidRequest } from '../../core/field-errors.js';
import { usdOf } from '../../core/money.js';
import { BATCH_COUNTED_MOST, passRateOf } from '../../core/tasks/batch.js';
import { type Comparison, compareShares, holm, type Sample, welch } from '../../core/tasks/comparison.js';
import { type PassQuery, type PassRates, passQuery, RATED_TASKS_MOST, ratesOf } from '../../core/tasks/pass-rates.js';
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
} from '../../core/tasks/task-groups.js';
import { atOneMoment } from '../../storage/database/transactions.js';
import {
  attemptedRows,
  type GroupRow,
  groupTaskRows,
  type Part,
  rewardParts,
} from '../../storage/tasks/task-groups.js';
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
  parts: readonly Part[] = [],
): TaskGroup => ({
  ...{ name, tasks, ended, passed, passRate: passRateOf(passed, ended) },
  ...{ meanReward: measures.reward.mean, meanTurns: measures.turns.mean, costUsd: usdOf(BigInt(nanoUsd)), unpriced },
  ...{ measures, parts: [...parts] },
});

/** Groups at one moment, with whether there are more tasks than were looked at. */
const readGroups = (
  { stepContext: { knex } }: EngineContext,
  asked: GroupQuery & { readonly only?: readonly string[] },
  { tenant }: Caller,
): Promise<TaskGroups> =>
  atOneMoment(knex, async (trx) => {
    const { rows, looked } = await groupTaskRows(trx, { ...asked, tenant });
    const parts = await rewardParts(trx, { ...asked, tenant });
    return { items: rows.map((row) => groupOf(row, parts.get(row.name))), atLeast: looked > BATCH_COUNTED_MOST };
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
export const GROUP_OPERATIONS = {
  /** The newest tasks that fit, grouped by something that they have. Throws `invalid_request`. */
  groupTasks,
  /** Whether two groups of tasks did otherwise than by chance. Throws `invalid_request`. */
  compareTaskGroups,
  /** How often each agent passes tasks, by agents. Throws `invalid_request`. */
  getPassRates,
};
