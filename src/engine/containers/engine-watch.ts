import type { StepContext } from '../../../steps/context.js';
import type { EngineLog } from '../../core/ops/log-record.js';

/** `dequeue` leaves runs that need a container in the queue, also where no other worker is there. */
const LEAVE_ALL = -1;

interface Watched {
  readonly stepContext: StepContext;
  readonly patienceMs: number;
  readonly log: EngineLog;
  /** Writes into the row of the worker whether it has an engine that answers. */
  readonly write: (containers: boolean) => Promise<void>;
}

/**
 * Asks the container engine of this worker whether it answers. While it does not, the worker takes no run that needs a container,
 * and its row says so, so that workers whose engine answers take these runs.
 */
export class EngineWatch {
  readonly #watched: Watched;
  #awaySince: number | null = null;
  #marked: boolean | null = null;
  #current: Promise<void> | null = null;

  constructor(watched: Watched) {
    this.#watched = watched;
  }

  /** The value of `Dequeue.deferContainersMs`. */
  readonly deferMs = (): number => {
    const { stepContext, patienceMs } = this.#watched;
    if (stepContext.environments === null) return patienceMs;
    if (this.#awaySince === null) return 0;
    return performance.now() - this.#awaySince < patienceMs ? LEAVE_ALL : patienceMs;
  };

  /** Writes into the row of the worker whether it has an engine that answers. */
  async mark(): Promise<void> {
    const containers = this.#watched.stepContext.environments !== null && this.#awaySince === null;
    if (containers === this.#marked) return;
    await this.#watched.write(containers);
    this.#marked = containers;
  }

  /** Looks beside everything else: a stop does not wait for an engine that gives no answer. What fails is tried at the next look. */
  begin(): void {
    this.#current ??= this.#look()
      .catch(() => undefined)
      .finally(() => {
        this.#current = null;
      });
  }

  async #look(): Promise<void> {
    const { environments, queue } = this.#watched.stepContext;
    if (environments === null) return;
    const why = await environments.look().then(
      () => null,
      (error: unknown) => (error instanceof Error ? error.message : String(error)),
    );
    const wasAway = this.#awaySince !== null;
    if (why === null) this.#awaySince = null;
    else this.#awaySince ??= performance.now();
    if (wasAway !== (why !== null)) this.#tell(why);
    await this.mark();
    if (wasAway && why === null) queue.wake();
  }

  #tell(why: string | null): void {
    const { log } = this.#watched;
    const component = 'containers';
    if (why === null)
      log.info(
        { component, event: 'engine_back' },
        'the container engine answers; runs that need a container are taken',
      );
    else
      log.warn(
        { component, event: 'engine_away', reason: why },
        'the container engine does not answer; runs that need a container wait in the queue',
      );
  }
}
