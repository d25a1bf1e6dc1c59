#!/usr/bin/env node
import type { CliServices } from './cli/cli-services.js';
import { runCommandLine } from './cli/command-line.js';
import { printError } from './cli/print.js';
import { watchStrayThrows } from './engine/dbos/stray-throws.js';
import { SILENT } from './engine/engine-config.js';
import { knowSettings } from './engine/secrets/setting-secrets.js';

/** Opens the doors between rooms of one floor. Each is loaded when a command goes through it. */
const services: CliServices = {
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
