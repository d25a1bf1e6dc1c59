import type { EngineLog, LogFields } from '../../core/ops/log-record.js';

/** A log whose lines name the worker that says them. */
export function workerLog(log: EngineLog, workerId: string): EngineLog {
  const named = (fields: LogFields): LogFields => ({ workerId, ...fields });
  return {
    debug: (fields, message) => log.debug(named(fields), message),
    info: (fields, message) => log.info(named(fields), message),
    warn: (fields, message) => log.warn(named(fields), message),
    error: (fields, message) => log.error(named(fields), message),
  };
}

/** What MCP servers write to their standard error, as lines of the log. */
export const serverLines =
  (log: EngineLog) =>
  (server: string, line: string): void =>
    log.info({ component: 'mcp', event: 'server_said', server }, line);
