import type { EnvironmentContext } from '../../../steps/containers/open-environment.js';
import { reapOrphans, settleEnvironments } from '../../../steps/containers/settle-environments.js';
import type { EngineLog } from '../../core/ops/log-record.js';
import { backgroundTask } from '../concurrency/repeated-work.js';

/** For each of the two. Beyond this an engine that is away is asked again at the next beat. */
const WITHIN_MS = 60_000;
const REAP_EVERY_MS = 60_000;

/** Stops and removes containers beside the beat of a worker; what fails is tried again. */
export function settleContainers(context: { readonly stepContext: EnvironmentContext; readonly log: EngineLog }): {
  readonly begin: () => void;
  readonly stop: () => Promise<void>;
} {
  const { stepContext, log } = context;
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
  /** What fails is said once, until it works again: an engine may be away for long. */
  const inTime = (work: (signal: AbortSignal) => Promise<unknown>, say: (error: string) => void) => {
    let failed = false;
    return async (): Promise<void> => {
      try {
        await work(AbortSignal.any([stopping.signal, AbortSignal.timeout(WITHIN_MS)]));
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
  const beside = backgroundTask(async () => {
    await settled();
    await reaped();
  });
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
