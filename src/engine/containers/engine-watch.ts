import type { StepContext } from '../../../steps/context.js';
import type { WorkerOffer } from '../../core/containers/worker-offer.js';
import type { EngineLog } from '../../core/ops/log-record.js';
import type { Dequeue } from '../../storage/dbos/dequeue.js';
import type { WorkerEngine } from '../../storage/queue/workers.js';

/** `dequeue` leaves runs that need a container in the queue, also where no other worker is there. */
const LEAVE_ALL = -1;
const IDENTIFIED_WITHIN_MS = 5000;

interface Watched {
  /** What the configuration says that this worker has. */
  readonly offer: WorkerOffer;
  readonly stepContext: StepContext;
  readonly patienceMs: number;
  readonly log: EngineLog;
  /** Writes into the row of the worker what it has for containers. */
  readonly write: (engine: WorkerEngine) => Promise<void>;
}

/**
 * Asks the container engine of this worker whether it answers. While it does not, the worker takes no run that needs a container,
 * and its row says so, so that workers whose engine answers take these runs.
 */
export class EngineWatch {
  readonly #watched: Watched;
  #awaySince: number | null = null;
  #marked: WorkerEngine | null = null;
  #engine: string | undefined;
  #offer: WorkerOffer;
  #current: Promise<void> | null = null;

  constructor(watched: Watched) {
    this.#watched = watched;
    this.#offer = watched.offer;
  }

  #deferMs(): number {
    const { stepContext, patienceMs } = this.#watched;
    if (stepContext.environments === null) return patienceMs;
    if (this.#awaySince === null) return 0;
    return performance.now() - this.#awaySince < patienceMs ? LEAVE_ALL : patienceMs;
  }

  /** Which runs that need a container this worker leaves to others now. */
  readonly wanted = (): Pick<Dequeue, 'deferContainersMs' | 'engine' | 'engineAwayMs' | 'offer'> => ({
    deferContainersMs: this.#deferMs(),
    engine: this.#engine ?? '',
    engineAwayMs: this.#watched.patienceMs,
    offer: JSON.stringify(this.#offer),
  });

  /** Writes into the row of the worker whether it has an engine that answers, who that is, and what it offers. */
  async mark(): Promise<void> {
    const containers = this.#watched.stepContext.environments !== null && this.#awaySince === null;
    const now = { containers, offer: this.#offer, ...(this.#engine !== undefined && { engine: this.#engine }) };
    const { containers: had, engine, offer } = this.#marked ?? {};
    if (containers === had && this.#engine === engine && this.#offer === offer) return;
    await this.#watched.write(now);
    this.#marked = now;
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
    // Another engine may answer at its address afterwards.
    if (why !== null) this.#engine = undefined;
    await this.mark();
    if (wasAway && why === null) queue.wake();
    if (this.#engine !== undefined || why !== null) return;
    const within = AbortSignal.timeout(IDENTIFIED_WITHIN_MS);
    const { cpuCores, memoryMb, architecture } = await environments.machine(within);
    const { offer } = this.#watched;
    this.#offer = {
      ...offer,
      cpuCores: offer.cpuCores ?? cpuCores,
      memoryMb: offer.memoryMb ?? memoryMb,
      architecture,
    };
    await this.mark();
    this.#engine = await environments.id(within);
    await this.mark();
    queue.wake();
  }

  #tell(why: string | null): void {
    const { log } = this.#watched;
    if (why === null)
      log.info(
        { component: 'containers', event: 'engine_back' },
        'the container engine answers; runs that need a container are taken',
      );
    else
      log.warn(
        { component: 'containers', event: 'engine_away', reason: why },
        'the container engine does not answer; runs that need a container wait in the queue',
      );
  }
}
