import type { StepContext } from '../../../steps/context.js';
import { type Caller, mayOperate } from '../../core/caller.js';
import { HoldfastError } from '../../core/errors/errors.js';
import type { WorkerRole } from '../../core/queue/worker.js';
import type { Exposition, Metrics } from '../../metrics/metrics.js';
import { within } from '../../storage/database/timing.js';
import { type Measures, readMeasures } from '../../storage/ops/measures.js';
import { SEGMENT_QUEUE } from '../queue/segment-queue.js';
import type { RunningSegments } from '../workers/running-segments.js';

/** However often one scrapes, the database is looked at no more often. */
const EVERY_MS = 5000;
/** A look that takes longer is not waited for. */
const WITHIN_MS = 4000;

type Gauge = ReturnType<Metrics['gauge']>;
type Counted = 'runs' | 'interruptions' | 'workers' | 'environments';

interface MeasuringContext {
  readonly stepContext: StepContext;
  readonly running: RunningSegments;
  readonly metrics: Metrics;
  readonly role: WorkerRole;
  readonly build: string;
}

/** What is going on in the whole database, and how much room this process has, for Prometheus. */
export class Measuring {
  readonly #context: Omit<MeasuringContext, 'role' | 'build'>;
  readonly #counted: { readonly [name in Counted]: { readonly gauge: Gauge; readonly label: string } };
  readonly #plain: { readonly [name in Exclude<keyof Measures, Counted>]: Gauge };
  readonly #up: Gauge;
  readonly #running: Gauge;
  #lookedAt = Number.NEGATIVE_INFINITY;
  #looking: Promise<void> | null = null;

  constructor(context: MeasuringContext, capacity: number) {
    this.#context = context;
    const { metrics } = context;
    const counted = (name: string, help: string, label: string) => ({
      gauge: metrics.gauge(name, help, [label]),
      label,
    });
    this.#counted = {
      runs: counted('runs', 'Runs of the database that are not over.', 'status'),
      interruptions: counted('interruptions_pending', 'What runs of the database wait for.', 'kind'),
      workers: counted('workers', 'Processes of the database.', 'status'),
      environments: counted('environments', 'Containers of runs of the database.', 'state'),
    };
    this.#plain = {
      containers: metrics.gauge('worker_active_containers', 'Containers of runs that work in this process.'),
      tasks: metrics.gauge('tasks_open', 'Tasks of the database that are not over.'),
      dead: metrics.gauge('tasks_dead', 'Tasks of the database that failed by an error and that no attempt follows.'),
      queued: metrics.gauge('queue_depth', 'Segments that wait for a worker.'),
      waited: metrics.gauge('queue_oldest_seconds', 'How long the oldest of them has existed.'),
      undone: metrics.gauge('trajectories_due', 'Runs that are over and whose record was not read yet.'),
    };
    this.#up = metrics.gauge('database_up', 'Whether the database said so in time: 1 or 0.');
    this.#running = metrics.gauge('worker_running_segments', 'Segments that work in this process.');
    metrics.gauge('worker_capacity_segments', 'How many may at once.').set(capacity);
    const labels = { version: context.build, worker: context.stepContext.worker.id, role: context.role };
    metrics.gauge('build_info', 'What this process is; always 1.', ['version', 'worker', 'role']).set(labels, 1);
  }

  async expose(): Promise<Exposition> {
    const { metrics, running } = this.#context;
    this.#running.set(running.runIds.length);
    if (performance.now() - this.#lookedAt >= EVERY_MS) {
      this.#looking ??= this.#look().finally(() => {
        this.#looking = null;
      });
      await this.#looking;
    }
    return metrics.expose();
  }

  async #look(): Promise<void> {
    const { stepContext, running } = this.#context;
    const found: Measures[] = [];
    const read = readMeasures(stepContext.knex, { queue: SEGMENT_QUEUE, here: running.runIds });
    await within(
      WITHIN_MS,
      read.then((measures) => void found.push(measures)),
    ).catch(() => undefined);
    this.#lookedAt = performance.now();
    this.#tell(found[0] ?? null);
  }

  /** What is not known is not said: an old number would look like a new one. */
  #tell(found: Measures | null): void {
    this.#up.set(found === null ? 0 : 1);
    for (const [name, { gauge, label }] of entriesOf(this.#counted)) {
      gauge.reset();
      for (const [value, n] of Object.entries(found?.[name] ?? {})) gauge.set({ [label]: value }, n);
    }
    for (const [name, gauge] of entriesOf(this.#plain)) {
      gauge.remove();
      if (found !== null) gauge.set(found[name]);
    }
  }
}

const entriesOf = <T extends object>(of: T) => Object.entries(of) as [keyof T, T[keyof T]][];

/** What Prometheus reads is of all tenants: the one that runs the system reads it. Throws `forbidden`. */
export async function exposeMetrics(measuring: Measuring, caller: Caller): Promise<Exposition> {
  if (mayOperate(caller, 'viewer')) return measuring.expose();
  throw new HoldfastError('forbidden', `Metrics are of all tenants; ${caller.actor} has no role in the installation.`, {
    hint: 'Give the caller `installation: "viewer"`.',
  });
}
