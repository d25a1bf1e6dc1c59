import {
  ARTIFACTS_BYTES,
  allArtifacts,
  type KeptArtifacts,
  NOTHING_KEPT,
  notKept,
} from '../../src/core/artifacts/kept-artifacts.js';
import type { Ending } from '../../src/core/runs/ending.js';
import type { RunTask } from '../../src/core/tasks/resolve-task.js';
import { keptOf } from '../../steps/containers/open-environment.js';
import type { StepContext } from '../../steps/context.js';
import { keepFiles } from '../../steps/verification/keep-artifacts.js';
import { inVerificationContainer } from '../../steps/verification/verification-environment.js';
import { durableStep } from '../durable-step.js';
import type { SegmentContext } from '../segment-context.js';

/** So long a run that was cancelled goes on for its artifacts, and beyond that for the copy of its container. */
const WITHIN_MS = 60_000;
const COPY_MS = 30_000;

/** Whether a task asks for files of the workspace. */
export const wantsFiles = ({ resolved: { artifacts } }: RunTask): boolean =>
  artifacts !== undefined && (artifacts.patch || artifacts.files.length > 0);

/**
 * Keeps the files that an agent left whose work is not verified. What cannot be kept is left out, with the reason: it changes nothing
 * of how the run ends. A run that never used its container has none.
 */
export async function keepLeft(scope: SegmentContext, task: RunTask): Promise<KeptArtifacts> {
  if (!wantsFiles(task)) return NOTHING_KEPT;
  const { id, tenant } = scope.run;
  return durableStep(scope, STEP, () => keepFilesOf(scope.ctx, { id, tenant, task }));
}

const STEP = 'verify:left';

/** Keeps the files of a run, once: executed again, it puts the same under the same digests. */
export async function keepFilesOf(
  ctx: StepContext,
  place: { readonly id: string; readonly tenant: string; readonly task: RunTask },
): Promise<KeptArtifacts> {
  const { id, task } = place;
  const { artifacts: wanted, initialFiles: initial } = task.resolved;
  if (wanted === undefined || !wantsFiles(task)) return NOTHING_KEPT;
  if ((await keptOf(ctx, { runId: id }, 'run'))?.begun !== true) return NOTHING_KEPT;
  const owner = { id, bytesLeft: ARTIFACTS_BYTES };
  // A run that was cancelled has no other signal any more.
  const signal = AbortSignal.timeout(WITHIN_MS + COPY_MS);
  const judged = await inVerificationContainer(ctx, place, STEP, signal, ({ entries }) =>
    keepFiles(ctx, owner, { entries, initial, wanted }, signal, WITHIN_MS),
  );
  if (judged.type === 'found') return judged.found;
  const why =
    judged.type === 'failed'
      ? judged.error.message
      : judged.type === 'broken'
        ? judged.why
        : `it took longer than ${(WITHIN_MS + COPY_MS) / 1000} seconds`;
  return notKept(why);
}

/** Adds to the end of a run what was kept of it: by its verification, as far as that came, or else what the agent left. */
export async function withArtifacts(
  scope: SegmentContext,
  task: RunTask,
  ending: Ending,
  kept: readonly KeptArtifacts[] = [],
): Promise<Ending> {
  if ((ending.type !== 'failed' && ending.type !== 'cancelled') || task.resolved.artifacts === undefined) return ending;
  const artifacts = kept.length > 0 ? allArtifacts(kept) : await keepLeft(scope, task);
  return { ...ending, artifacts };
}
