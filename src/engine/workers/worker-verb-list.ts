import type { Caller } from '../../core/caller.js';
import type { Health } from '../../core/ops/health.js';
import type { Page, PageOf } from '../../core/page.js';
import type { WorkerStop, WorkerView } from '../../core/queue/worker.js';
import type { LiftedWork, LiftWork, SetAsideList } from '../../core/runs/set-aside.js';
import type { AnsweredRequest, Exposition } from '../../metrics/metrics.js';

/** The verbs of the engine that are about its processes: who they are, how they are, and what they died with. */
export interface WorkerVerbs {
  /** The processes of this database, by id. They serve all tenants. */
  listWorkers(filter: PageOf): Promise<Page<WorkerView>>;
  /** Throws `worker_unknown`. */
  getWorker(id: string): Promise<WorkerView>;
  /** Asks a worker to stop; it sees that within a second. Repeating it is no error. Throws `worker_unknown`. */
  stopWorker(id: string, how: WorkerStop): Promise<WorkerView>;
  /** Work beside the runs, of all tenants, that is not begun any more since processes died with it; the newest 100. docs/operate/workers.md. */
  listSetAside(): Promise<SetAsideList>;
  /** Forgets the deaths with a piece of work, so that it is begun again. Repeating it is no error. */
  liftWork(work: LiftWork): Promise<LiftedWork>;
  /** What Prometheus reads of this process and of the database. Throws `forbidden` where the caller has no role in the installation. */
  metrics(caller: Caller): Promise<Exposition>;
  /** Counts an answer to a request. */
  countRequest(request: AnsweredRequest): void;
  /** Of each part, within seconds. */
  health(): Promise<Health>;
  /** Whether requests should be sent here. */
  isReady(): Promise<boolean>;
}
