#!/usr/bin/env node
import pino from 'pino';
import type { CliServices } from './cli/cli-services.js';
import { runCommandLine } from './cli/command-line.js';
import { printError } from './cli/print.js';
import type { Settings } from './config.js';
import type { EngineLog } from './core/ops/log-record.js';
import { type LogFields, logRecord } from './core/ops/log-record.js';
import { watchStrayThrows } from './engine/dbos/stray-throws.js';
import { SILENT } from './engine/engine-config.js';
import { knowSettings } from './engine/secrets/setting-secrets.js';
import { shownBeginning, withoutKnownSecrets } from './models/secrets/known-secrets.js';

/** One line of JSON for each thing that is said: docs/operate/logs.md. */
function jsonLog(level: Settings['logLevel']): EngineLog {
  const lines = pino(
    {
      ...{ level, base: null, timestamp: () => `,"timestamp":"${new Date().toISOString()}"` },
      formatters: { level: (label) => ({ level: label.toUpperCase() }) },
    },
    pino.destination({ fd: 2, sync: true }),
  );
  const record = (fields: LogFields, message: string) =>
    logRecord(fields, message, (text, wasCut) => (wasCut ? shownBeginning(text) : withoutKnownSecrets(text)));
  return {
    debug: (fields, message) => lines.debug(record(fields, message)),
    info: (fields, message) => lines.info(record(fields, message)),
    warn: (fields, message) => lines.warn(record(fields, message)),
    error: (fields, message) => lines.error(record(fields, message)),
  };
}

/** Opens the doors between rooms of one floor. Each is loaded when a command goes through it. */
const services: CliServices = {
  log: jsonLog,
  openHttp: async (engine, options) => (await import('./http/server.js')).createHttpServer(engine, options),
  isLoopback: async (host) => (await import('./http/auth/host.js')).isLoopback(host),
  keptToken: async (dataDir) => (await import('./http/auth/tokens.js')).keptToken(dataDir),
  madeToken: async (dataDir) => (await import('./http/auth/tokens.js')).madeToken(dataDir),
  runDemo: async (options) => (await import('./demo/run-demo.js')).runDemo(options),
  ownModules: async () => ({
    holdfast: await import('./index.js'),
    'holdfast/demo': await import('./demo/config.js'),
    'holdfast/models': await import('./library/models.js'),
    'holdfast/sdk': await import('./library/sdk.js'),
    'holdfast/testing': await import('./library/testing.js'),
    'holdfast/tools': await import('./library/tools.js'),
  }),
};

// The reader of a pipe has read enough.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit();
  throw error;
});

knowSettings();
watchStrayThrows({ log: SILENT, fatal: printError });
await runCommandLine(process.argv.slice(2), services);
