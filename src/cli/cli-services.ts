import { format } from 'node:util';
import type { Settings } from '../config.js';
import type { Token } from '../core/access-token.js';
import type { EngineLog } from '../core/ops/log-record.js';
import type { Engine } from '../engine/engine.js';
import type { Client } from './client.js';

export interface HttpServer {
  readonly url: string;
  drain(): void;
  setTokens(tokens: readonly Token[]): void;
  close(graceMs?: number): Promise<void>;
}

interface HttpOptions
  extends Pick<Settings, 'host' | 'port' | 'console' | 'publicUrl' | 'maxBodyBytes' | 'maxTaskBytes'> {
  readonly tokens: readonly Token[] | (() => Promise<readonly Token[]>);
  readonly tokensConfigured: boolean;
  readonly serves: 'all' | 'metrics';
  readonly log: EngineLog;
}

interface DemoOptions {
  /** Null: the scripted one. */
  readonly model: string | null;
  readonly connect: (url: string, token: string) => Client;
}

/** What the commands need of other modules; `main.ts` provides it. */
export interface CliServices {
  readonly openHttp: (engine: Engine, options: HttpOptions) => Promise<HttpServer>;
  readonly isLoopback: (host: string) => Promise<boolean>;
  /** Null: none was made yet. */
  readonly keptToken: (dataDir: string) => Promise<Token | null>;
  readonly madeToken: (dataDir: string) => Promise<Token>;
  /** Resolves to the exit code. */
  readonly runDemo: (options: DemoOptions) => Promise<number>;
  /** Modules of this package that a configuration file imports by name. */
  readonly ownModules: () => Promise<{ readonly [name: string]: unknown }>;
}

/**
 * Puts into the log what libraries and tools write to standard error through the console, and the warnings of Node.js: they would stand
 * between its lines as a text that is no JSON.
 */
export function consoleIntoLog(log: EngineLog): void {
  const said =
    (say: EngineLog['warn']) =>
    (...words: unknown[]) =>
      say({ component: 'console', event: 'said' }, format(...words));
  Object.assign(console, { error: said(log.error), warn: said(log.warn), trace: said(log.warn) });
  // The listener of Node.js, which writes them as they are.
  process.removeAllListeners('warning');
  process.on('warning', ({ name, message }) => log.warn({ component: 'console', event: 'warned', name }, message));
}
