#!/usr/bin/env node
import pino from 'pino';
import { runCommandLine } from './cli/command-line.js';
import type { Doors } from './cli/doors.js';

/** Where a secret could stand in what is logged. */
const SECRETS = ['token', 'authorization', 'password', 'apiKey', 'databaseUrl'].flatMap((name) => [name, `*.${name}`]);

/** Opens the doors between rooms of one floor. Each is loaded when a command goes through it. */
const doors: Doors = {
  log: (level) => pino({ level, base: { pid: process.pid }, redact: SECRETS }, pino.destination({ fd: 2, sync: true })),
  openHttp: async (engine, options) => (await import('./http/server.js')).createHttpServer(engine, options),
  isLoopback: async (host) => (await import('./http/host.js')).isLoopback(host),
  keptToken: async (dataDir) => (await import('./http/tokens.js')).keptToken(dataDir),
  madeToken: async (dataDir) => (await import('./http/tokens.js')).madeToken(dataDir),
  demoConfig: async () => (await import('./demo/config.js')).demoConfig(),
  runDemo: async (options) => (await import('./demo/run-demo.js')).runDemo(options),
  ownModules: async () => ({
    holdfast: await import('./index.js'),
    'holdfast/demo': await import('./demo/config.js'),
  }),
};

// The reader of a pipe has read enough.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit();
  throw error;
});

await runCommandLine(process.argv.slice(2), doors);
