import type { EventData } from '../../src/core/log/event.js';
import { prepareEnvironment } from '../../steps/containers/prepare-environment.js';
import { durableStep } from '../durable-step.js';
import { type RunFacts, type SegmentContext, stopFromHalt } from '../segment-context.js';

/** Prepares the environment of a run, in one step before its first turn. Where there is nothing to prepare, no container is made. */
export async function prepareRun(scope: SegmentContext): Promise<void> {
  const { ctx, run, recorded, signal } = scope;
  if (scope.first !== 0) return;
  const present = preparationOf(run);
  const said = recorded?.prepared(present);
  if (said) scope.log.add('environment.prepared', said);
  if (said !== undefined || present === null || run.environment === null) return;
  const owner = { runId: run.id, tenant: run.tenant, ...run.environment };
  const what = { files: run.task?.resolved.initialFiles ?? {}, scaffold: run.scaffold?.scaffold ?? null };
  const ended = await durableStep(scope, 'environment:prepare', () => prepareEnvironment(ctx, owner, what, signal));
  if (ended.type === 'prepared') scope.log.add('environment.prepared', present);
  else scope.stop = ended.type === 'failed' ? ended : stopFromHalt(ended.why);
}

/** What there is to prepare; null: nothing. */
function preparationOf({ environment, scaffold, task }: RunFacts): EventData<'environment.prepared'> | null {
  const initializes = scaffold?.scaffold.initialize !== undefined;
  const brings = Object.keys(task?.resolved.initialFiles ?? {}).length > 0;
  if (environment === null || !(initializes || brings)) return null;
  const { image } = environment.spec;
  if (!initializes) return { image, scaffold: null };
  const { name, version } = scaffold.scaffold;
  return { image, scaffold: { name, version } };
}
