import { reapOrphans, settleEnvironments } from '../../../steps/containers/settle-environments.js';
import { backgroundTask } from '../concurrency/repeated-work.js';
import type { EngineContext } from '../engine-context.js';

/** Beyond this an engine that is away is asked again at the next beat. */
const WITHIN_MS = 60_000;
const REAP_EVERY_MS = 60_000;

/** Stops and removes containers beside the beat of a worker; what fails is tried again. */
export function settleContainers(context: EngineContext): {
  readonly begin: () => void;
  readonly stop: () => Promise<void>;
} {
  const { stepContext, log } = context;
  const stopping = new AbortController();
  let reapAt = 0;
  let failed = false;
  const work = async (): Promise<void> => {
    const signal = AbortSignal.any([stopping.signal, AbortSignal.timeout(WITHIN_MS)]);
    try {
      await settleEnvironments(stepContext, signal);
      if (stepContext.now() >= reapAt) {
        const orphans = await reapOrphans(stepContext, signal);
        reapAt = stepContext.now() + REAP_EVERY_MS;
        if (orphans > 0)
          log.info(
            { component: 'containers', event: 'orphans_removed', containers: orphans },
            'containers that no run has were removed',
          );
      }
      failed = false;
    } catch (error) {
      // An engine that is away says so once.
      if (!failed && !stopping.signal.aborted)
        log.warn(
          { component: 'containers', event: 'not_settled', error: String(error) },
          'containers could not be settled; it is tried again',
        );
      failed = true;
    }
  };
  const beside = backgroundTask(work);
  return {
    begin: () => {
      if (stepContext.environments !== null) beside.begin();
    },
    stop: () => {
      stopping.abort();
      return beside.stop();
    },
  };
}
