import { environmentSpec } from '../../src/core/containers/environment-spec.js';
import { jsonObject } from '../../src/core/json.js';
import { Allowance } from '../../src/core/limits/allowance.js';
import type { RunTask } from '../../src/core/tasks/resolve-task.js';
import { resolveTask } from '../../src/core/tasks/resolve-task.js';
import { keptDefinition, type TaskDefinition } from '../../src/core/tasks/task-definition.js';
import { DEFAULT_WEIGHTS, type SignalWeights } from '../../src/core/tasks/task-reward.js';
import { readJson } from '../../src/storage/database/stored-json.js';
import type { RunRow } from '../../src/storage/runs/run-row.js';
import { definitionIn, readDefinition } from '../../src/storage/tasks/task-definitions.js';
import { readTask } from '../../src/storage/tasks/tasks.js';
import type { StepContext } from '../context.js';
import { withDatabaseRetry } from '../database-retry.js';

/** The task that a run executes, the same whenever it is asked for; null: none, or it was removed with the run that it stood on. */
export async function taskOfRun({ knex }: Pick<StepContext, 'knex'>, run: RunRow): Promise<RunTask | null> {
  const { task_id: id } = run;
  if (id === null) return null;
  const row = await withDatabaseRetry(() => readTask(knex, id));
  if (row === undefined) return null;
  const kept = await withDatabaseRetry(() => readDefinition(knex, row.tenant, row.definition_hash));
  if (kept === undefined) throw new Error('a task references its definition');
  const definition = keptDefinition.parse(definitionIn(kept));
  const parameters = readJson(jsonObject, row.parameters, { table: 'tasks', row: id, column: 'parameters' });
  const { environment } = definition;
  return {
    ...{ id, definitionHash: kept.hash, parameters, rewardFunction: row.reward_function },
    // What was taken once is made again, however much work that is.
    resolved: resolveTask(
      definition,
      { parameters, seed: Number(row.seed) },
      new Allowance({ work: Number.POSITIVE_INFINITY }),
    ),
    environment: {
      spec: environmentSpec.parse(row.image === null ? environment : { ...environment, image: row.image }),
      secrets: async () => new Map(),
      // No one watches a task.
      onUnknown: 'restart',
    },
    weights: weightsOf(definition),
  };
}

function weightsOf({ rewardWeights: own }: TaskDefinition): SignalWeights {
  if (own === null) return DEFAULT_WEIGHTS;
  const { testPass, compilation, progress, efficiency, codeQuality } = own;
  return { test_pass: testPass, compilation, progress, efficiency, code_quality: codeQuality };
}
