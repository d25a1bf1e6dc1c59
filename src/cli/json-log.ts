import pino from 'pino';
import type { Settings } from '../config.js';
import { type EngineLog, type LogFields, logRecord } from '../core/ops/log-record.js';
import { shownPart } from '../models/secrets/known-secrets.js';

/** One line of JSON for each thing that is said: docs/operate/logs.md. */
export function jsonLog(level: Settings['logLevel']): EngineLog {
  const lines = pino(
    {
      ...{ level, base: null, timestamp: () => `,"timestamp":"${new Date().toISOString()}"` },
      formatters: { level: (label) => ({ level: label.toUpperCase() }) },
    },
    pino.destination({ fd: 2, sync: true }),
  );
  const record = (fields: LogFields, message: string) => logRecord(fields, message, shownPart);
  return {
    debug: (fields, message) => lines.debug(record(fields, message)),
    info: (fields, message) => lines.info(record(fields, message)),
    warn: (fields, message) => lines.warn(record(fields, message)),
    error: (fields, message) => lines.error(record(fields, message)),
  };
}
