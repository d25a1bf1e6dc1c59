import type { ExecutedStep } from '../../../steps/context.js';
import type { EngineLog, LogFields } from '../../core/ops/log-record.js';

/**
 * A log whose lines name the worker that writes them, from when the process has its worker id. A process and its engine share one, so
 * that lines about requests, signals and the database have the name too.
 */
export class WorkerLog implements EngineLog {
  readonly #to: EngineLog;
  #worker: string | null = null;

  private constructor(to: EngineLog) {
    this.#to = to;
  }

  /** The same log where it is one already. */
  static around(log: EngineLog): WorkerLog {
    return log instanceof WorkerLog ? log : new WorkerLog(log);
  }

  /** Lines about another worker keep its name. */
  name(worker: string): void {
    this.#worker = worker;
  }

  // A method of a log may be taken from it and called by itself.
  readonly debug = (fields: LogFields, message: string): void => this.#to.debug(this.#named(fields), message);
  readonly info = (fields: LogFields, message: string): void => this.#to.info(this.#named(fields), message);
  readonly warn = (fields: LogFields, message: string): void => this.#to.warn(this.#named(fields), message);
  readonly error = (fields: LogFields, message: string): void => this.#to.error(this.#named(fields), message);

  #named(fields: LogFields): LogFields {
    return this.#worker === null ? fields : { workerId: this.#worker, ...fields };
  }
}

/** What MCP servers write to their standard error, as lines of the log. */
export const serverLines =
  (log: EngineLog) =>
  (server: string, line: string): void =>
    log.info({ component: 'mcp', event: 'server_said', server }, line);

/** What a worker executed, as lines of the log: what a step was, and nothing of what was said in it. */
export const stepLines =
  (log: EngineLog) =>
  ({ runId, taskId, step, ...more }: ExecutedStep): void =>
    log.info({ component: 'steps', event: 'step_executed', runId, taskId, step, ...more }, 'a step was executed');
