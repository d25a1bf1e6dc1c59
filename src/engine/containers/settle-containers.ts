import { type CollectedImage, collectImages } from '../../../steps/containers/collect-images.js';
import { type EnvironmentContext, pullAhead } from '../../../steps/containers/open-environment.js';
import { reapOrphans, settleEnvironments } from '../../../steps/containers/settle-environments.js';
import type { StepContext } from '../../../steps/context.js';
import type { ImageCollection } from '../../core/containers/image-policy.js';
import type { EngineLog } from '../../core/ops/log-record.js';
import { backgroundTask } from '../concurrency/repeated-work.js';

/** For each of the two. Beyond this an engine that is away is asked again at the next beat. */
const WITHIN_MS = 60_000;
const REAP_EVERY_MS = 60_000;
const AHEAD_EVERY_MS = 10 * 60_000;
const AHEAD_WITHIN_MS = 30 * 60_000;
const COLLECT_EVERY_MS = 10 * 60_000;
const COLLECT_WITHIN_MS = 5 * 60_000;

/** Stops and removes containers beside the beat of a worker; what fails is tried again. */
export function settleContainers(context: {
  readonly stepContext: EnvironmentContext & Pick<StepContext, 'metrics'>;
  readonly log: EngineLog;
  /** When images go; null: none does. */
  readonly imageCollection: ImageCollection | null;
  /** Images that are pulled before a run needs them. */
  readonly imagesAhead: readonly string[];
}): {
  readonly begin: () => void;
  readonly stop: () => Promise<void>;
} {
  const { stepContext, log, imageCollection, imagesAhead } = context;
  const stopping = new AbortController();
  let reapAt = 0;
  const reap = async (signal: AbortSignal): Promise<void> => {
    if (stepContext.now() < reapAt) return;
    const orphans = await reapOrphans(stepContext, signal);
    reapAt = stepContext.now() + REAP_EVERY_MS;
    if (orphans > 0)
      log.info(
        { component: 'containers', event: 'orphans_removed', containers: orphans },
        'containers that no run has were removed',
      );
  };
  let collectAt = 0;
  const collect = async (signal: AbortSignal): Promise<void> => {
    if (imageCollection === null || stepContext.now() < collectAt) return;
    collectAt = stepContext.now() + COLLECT_EVERY_MS;
    const told = ({ name, ...image }: CollectedImage): void => {
      stepContext.metrics.imageRemoved(image.reason);
      log.info(
        { component: 'containers', event: 'image_removed', image: name, ...image },
        'an image that no run needs was removed from the engine',
      );
    };
    await collectImages(stepContext, imageCollection, told, signal);
  };
  let aheadAt = 0;
  const ahead = async (signal: AbortSignal): Promise<void> => {
    if (stepContext.now() < aheadAt) return;
    aheadAt = stepContext.now() + AHEAD_EVERY_MS;
    await pullAhead(stepContext, imagesAhead, signal);
  };
  /** What fails is said once, until it works again: an engine may be away for long. */
  const inTime = (
    work: (signal: AbortSignal) => Promise<unknown>,
    say: (error: string) => void,
    withinMs = WITHIN_MS,
  ) => {
    let failed = false;
    return async (): Promise<void> => {
      try {
        await work(AbortSignal.any([stopping.signal, AbortSignal.timeout(withinMs)]));
        failed = false;
      } catch (error) {
        if (!failed && !stopping.signal.aborted) say(String(error));
        failed = true;
      }
    };
  };
  const settled = inTime(
    (signal) => settleEnvironments(stepContext, signal),
    (error) =>
      log.warn(
        { component: 'containers', event: 'not_settled', error },
        'containers could not be settled; it is tried again',
      ),
  );
  const reaped = inTime(reap, (error) =>
    log.warn(
      { component: 'containers', event: 'not_reaped', error },
      'containers that no run has could not be removed; it is tried again',
    ),
  );
  const collected = inTime(
    collect,
    (error) =>
      log.warn(
        { component: 'containers', event: 'images_not_removed', error },
        'images that no run needs could not be removed; it is tried again',
      ),
    COLLECT_WITHIN_MS,
  );
  const pulled = inTime(
    ahead,
    (error) =>
      log.warn(
        { component: 'containers', event: 'images_not_ahead', error },
        'images that runs will need could not be pulled; it is tried again',
      ),
    AHEAD_WITHIN_MS,
  );
  const images = backgroundTask(collected);
  const pulls = backgroundTask(pulled);
  const beside = backgroundTask(async () => {
    await settled();
    await reaped();
  });
  return {
    begin: () => {
      if (stepContext.environments === null) return;
      beside.begin();
      images.begin();
      pulls.begin();
    },
    stop: () => {
      stopping.abort();
      return Promise.all([beside.stop(), images.stop(), pulls.stop()]).then(() => undefined);
    },
  };
}
