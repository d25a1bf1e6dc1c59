import { rebuildSegment } from '../../../steps/segment/rebuild-segment.js';
import { SEGMENT_WORKFLOW } from '../../core/runs/run.js';
import { type OlderSegment, olderSegments } from '../../storage/dbos/segment-rows.js';
import { readRun } from '../../storage/runs/runs.js';
import { dueItems } from '../concurrency/due-items.js';
import { maintenanceWork } from '../concurrency/repeated-work.js';
import { RECORDING_VERSION } from '../dbos/recording-version.js';
import type { EngineContext } from '../engine-context.js';

const AT_ONCE = 100;

/**
 * Goes on with segments that no worker can go on with that lives: those in the queue of an older recording version, whose
 * workers are all gone. What a newer build has recorded is left to it.
 */
export async function rebuildLeft(context: EngineContext): Promise<void> {
  const { stepContext, role } = context;
  // A process that only serves may be of a build whose workers are still to come.
  if (role === 'api') return;
  const wanted = { workflow: SEGMENT_WORKFLOW, version: RECORDING_VERSION };
  const rebuilt: string[] = [];
  const rebuild = dueItems<OlderSegment>({
    atOnce: AT_ONCE,
    find: (except, limit) => olderSegments(stepContext.knex, { ...wanted, except, limit }),
    idOf: ({ workflowId }) => workflowId,
    work: async (older) => {
      const tenant = (await readRun(stepContext.knex, older.runId))?.tenant ?? 'default';
      await maintenanceWork(context, { tenant, name: `rebuild ${older.runId}` }, async () => {
        if (await rebuildSegment(stepContext, older, RECORDING_VERSION)) rebuilt.push(older.runId);
      });
    },
    failed: ({ runId }, error) =>
      context.log.warn(
        { component: 'worker', event: 'segment_not_rebuilt', runId, error: String(error) },
        'a segment could not be rebuilt',
      ),
  });
  await rebuild(() => false);
  if (rebuilt.length === 0) return;
  stepContext.queue.wake();
  context.log.warn(
    { component: 'worker', event: 'segments_rebuilt', runs: rebuilt, version: RECORDING_VERSION },
    'segments of an older recording version were rebuilt',
  );
  for (const id of rebuilt) context.changes.announce(id);
}
