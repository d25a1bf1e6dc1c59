import { DBOS, type DBOSClient } from '@dbos-inc/dbos-sdk';
import type { Knex } from 'knex';
import type { StepContext } from '../../../steps/context.js';
import { dropStaging } from '../../../steps/exports/begin-export.js';
import { EXPORT_WORKFLOW, exportRun } from '../../../workflows/export.js';
import { HoldfastError } from '../../core/errors/errors.js';
import type { EngineLog } from '../../core/ops/log-record.js';
import { rawConnection } from '../../storage/database/transactions.js';
import { endDeadExports, leftExports, requeueExports } from '../../storage/dbos/left-exports.js';
import { listenNow, wakeDispatcher } from '../dbos/dispatcher-hook.js';

const EXPORT_QUEUE = 'holdfast.exports';
/** Exports that a process works on at once: each holds a part in memory. */
const AT_ONCE = 1;

/** The exports of this process: their workflow, their queue, and those that are at work here. */
export class ExportQueue {
  readonly #client: () => DBOSClient;
  readonly #running = new Set<string>();
  /** Those that were found stuck at the last look. */
  #suspects: ReadonlySet<string> = new Set();

  constructor(client: () => DBOSClient) {
    this.#client = client;
  }

  /** Makes the workflow known to DBOS; before the launch. */
  register(ctx: StepContext): void {
    const work = async (id: string): Promise<void> => {
      this.#running.add(id);
      try {
        await exportRun(ctx, id);
      } finally {
        this.#running.delete(id);
      }
    };
    DBOS.registerWorkflow(work, { name: EXPORT_WORKFLOW });
  }

  /** Takes exports out of the queue from now on. */
  async listen(): Promise<void> {
    listenNow(await DBOS.registerQueue(EXPORT_QUEUE, { workerConcurrency: AT_ONCE, onConflict: 'always_update' }));
  }

  /** Puts an export into the queue in someone's transaction. It carries no version: any build may work on it. */
  async enqueue(trx: Knex.Transaction, id: string): Promise<void> {
    const options = { queueName: EXPORT_QUEUE, workflowName: EXPORT_WORKFLOW, workflowID: id };
    await rawConnection(trx, (connection) => this.#client().enqueueInTransaction(connection, options, id));
  }

  wake(): void {
    wakeDispatcher(EXPORT_QUEUE);
  }

  /**
   * Puts exports back into the queue that no one works on: their worker is gone, or this process has given them up. Work that
   * is done twice is done to the same end. Exports whose workflow can never go on end by name.
   */
  async watch(ctx: StepContext, log: EngineLog): Promise<void> {
    const { knex, worker } = ctx;
    const left = await leftExports(knex, EXPORT_WORKFLOW, worker.id);
    const idle = left.flatMap(({ id, executor }) => (executor === worker.id && !this.#running.has(id) ? [id] : []));
    const stray = idle.filter((id) => this.#suspects.has(id));
    this.#suspects = new Set(idle);
    const lost = [...stray, ...left.flatMap(({ id, executor }) => (executor === worker.id ? [] : [id]))];
    if (lost.length > 0) {
      await requeueExports(knex, EXPORT_WORKFLOW, lost);
      log.warn(
        { component: 'exports', event: 'exports_requeued', exports: lost },
        'exports that no one worked on were put back into the queue',
      );
      this.wake();
    }
    const error = new HoldfastError('export_failed', 'The workflow of the export cannot go on.').view();
    for (const row of await endDeadExports(knex, EXPORT_WORKFLOW, error)) await dropStaging(ctx, row);
  }
}
