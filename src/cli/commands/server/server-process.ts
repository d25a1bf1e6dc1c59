import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import type { Settings } from '../../../config.js';
import { parseTokens, type Token } from '../../../core/access-token.js';
import type { AgentView } from '../../../core/agents/agent-view.js';
import { LOCAL_CALLER } from '../../../core/caller.js';
import { HoldfastError } from '../../../core/errors/errors.js';
import type { EngineLog } from '../../../core/ops/log-record.js';
import { PAGE_LIMIT, type Page } from '../../../core/page.js';
import type { HoldfastConfig } from '../../../engine/agents/define.js';
import { hearerOf, watchStrayThrows } from '../../../engine/dbos/stray-throws.js';
import type { Engine } from '../../../engine/engine.js';
import { WorkerLog } from '../../../engine/workers/worker-log.js';
import { knowSecret } from '../../../models/secrets/known-secrets.js';
import { type CliServices, consoleIntoLog, type HttpServer } from '../../cli-services.js';
import { assertPortFree } from '../../doctor/check-process.js';
import { packageVersion } from '../../help.js';
import { needConfig } from '../../load-config.js';
import { print, printAsIs } from '../../print.js';

const SIGNALS = ['SIGTERM', 'SIGINT'] as const;

export interface StopSignals {
  /** Resolves when the process should stop. */
  asked(): Promise<void>;
  /** Asks as a first SIGTERM does; an operator may from afar. */
  ask(): void;
}

/**
 * Watches for SIGTERM and SIGINT. Until `asked` is called, one ends the process at once: what is being started survives that.
 * Then the first one resolves `asked`, and the process ends with code 1 at a second one, or when it has not stopped within
 * its grace.
 */
export function watchStopSignals(graceMs: number, log: EngineLog): StopSignals {
  let stop: (() => void) | null = null;
  const end = (signal: string, why: string): void => {
    log.warn({ component: 'process', event: 'ended_at_once', signal }, why);
    process.exit(1);
  };
  const onSignal = (signal: NodeJS.Signals): void => {
    if (stop === null) end(signal, 'asked to stop before it was to serve, or again: ended at once');
    else begin(signal);
  };
  const begin = (why: string): void => {
    log.info({ component: 'process', event: 'stopping', signal: why, graceMs }, 'stopping');
    setTimeout(end, graceMs, why, 'did not stop in its time: what is in flight goes on at the next start').unref();
    stop?.();
    stop = null;
  };
  for (const signal of SIGNALS) process.on(signal, onSignal);
  return {
    asked: () =>
      new Promise((resolve) => {
        stop = resolve;
      }),
    ask: () => {
      if (stop !== null) begin('an operator');
    },
  };
}

/** A token that is removed is refused within a second. */
const LOOK_MS = 300;
const SETTING = 'HOLDFAST_TOKENS_FILE';

/**
 * Reads the file of tokens again when it changes and when the process gets SIGHUP, which does nothing else. A file that cannot be read,
 * or holds no list, changes nothing. `file` null: SIGHUP does nothing. Gives what ends it.
 */
export function watchTokens(file: string | null, use: (tokens: readonly Token[]) => void, log: EngineLog): () => void {
  const watch = file === null ? null : new TokenFile(file, use, log);
  const onSignal = (): void => {
    if (watch !== null) watch.readNow('SIGHUP');
    else log.info({ component: 'process', event: 'nothing_read_again', why: 'SIGHUP' }, 'there is no file of tokens');
  };
  process.on('SIGHUP', onSignal);
  return () => {
    process.off('SIGHUP', onSignal);
    watch?.end();
  };
}

/** Looks at what a file says, whichever file is at its path. What it says at first is taken, since it was read before. */
class TokenFile {
  readonly #file: string;
  readonly #use: (tokens: readonly Token[]) => void;
  readonly #log: EngineLog;
  readonly #timer: NodeJS.Timeout;
  #last: string | null = null;
  #looking = false;

  constructor(file: string, use: (tokens: readonly Token[]) => void, log: EngineLog) {
    this.#file = file;
    this.#use = use;
    this.#log = log;
    this.readNow('the server started');
    this.#timer = setInterval(() => void this.#look(), LOOK_MS).unref();
  }

  readNow(why: string): void {
    try {
      this.#last = readFileSync(this.#file, 'utf8');
    } catch {
      this.#last = null;
    }
    this.#take(why);
  }

  end(): void {
    clearInterval(this.#timer);
  }

  async #look(): Promise<void> {
    if (this.#looking) return;
    this.#looking = true;
    const content = await readFile(this.#file, 'utf8').catch(() => null);
    this.#looking = false;
    if (content === this.#last) return;
    this.#last = content;
    this.#take('the file changed');
  }

  #take(why: string): void {
    const about = { why, file: this.#file };
    try {
      if (this.#last === null) throw new Error('The file cannot be read.');
      const tokens = parseTokens(SETTING, this.#last);
      this.#use(tokens);
      this.#log.info(
        { component: 'process', event: 'tokens_read', count: tokens.length, ...about },
        'the tokens were read',
      );
    } catch (err) {
      this.#log.error(
        { component: 'process', event: 'tokens_unreadable', err, ...about },
        'the tokens stay as they were',
      );
    }
  }
}

/** The engine gets this share of the time to stop; the rest is for closing what it used. */
const ENGINE_SHARE = 0.8;
const HTTP_GRACE_MS = 1000;

interface Agents {
  readonly config: HoldfastConfig;
  readonly from: string;
}

interface OpenServer {
  readonly http: HttpServer;
  readonly tokens: readonly Token[];
}

/** Serves until it is asked to stop. Throws what keeps it from starting, and leaves nothing open then. */
export async function serve(settings: Settings, services: CliServices): Promise<void> {
  // Whatever this process makes is for its user alone, also what tools and servers that it starts make.
  process.umask(0o077);
  const log = WorkerLog.around((await import('../../json-log.js')).jsonLog(settings.logLevel));
  watchStrayThrows(hearerOf(log));
  consoleIntoLog(log);
  const stop = watchStopSignals(settings.shutdownGraceMs, log);
  // A start may wait long for its database; by default the signal ends the process. The file of tokens is read after the start anyway.
  process.on('SIGHUP', ignored);
  const listening = listeningOf(settings);
  if (listening !== null) await assertMayListen({ ...settings, ...listening }, services);
  const { config, from } = await agentsOf(settings, services);
  const { createEngine } = await import('../../../engine/create-engine.js');
  const engine = await createEngine({
    ...{ ...config, ...engineSettings(settings), log },
    ...{ onFatal: die(log), onStopAsked: () => stop.ask() },
  });
  const server = listening === null ? null : await openHttp(engine, { ...settings, ...listening }, log, services);
  watchTokens(settings.tokensFile, (tokens) => take(tokens, server), log);
  process.off('SIGHUP', ignored);
  announce(settings, await engine.listAgents({ limit: PAGE_LIMIT }, LOCAL_CALLER), server, from);
  await stop.asked();
  server?.http.drain();
  await server?.http.close(HTTP_GRACE_MS);
  await engine.stop({ graceMs: Math.floor(settings.shutdownGraceMs * ENGINE_SHARE) });
  log.info({ component: 'process', event: 'stopped' }, 'stopped');
  // A model call or a tool that is left behind would keep the process.
  process.exit();
}

const ignored = (): void => undefined;

/** A worker that listens for nothing knows them as well, since its runs may say them. */
function take(tokens: readonly Token[], server: OpenServer | null): void {
  for (const { token } of tokens) knowSecret(token);
  server?.http.setTokens(tokens);
}

interface Listening {
  readonly serves: 'all' | 'metrics';
  readonly port: number;
}

/** What the process listens for, and where; null: for nothing. */
function listeningOf({ role, port, metricsPort }: Settings): Listening | null {
  if (role !== 'worker') return { serves: 'all', port };
  return metricsPort === null ? null : { serves: 'metrics', port: metricsPort };
}

/** What the HTTP server would refuse is refused before anything is loaded or made. */
async function assertMayListen({ host, port, tokens, dataDir }: Settings, services: CliServices): Promise<void> {
  if (tokens.length === 0 && !(await services.isLoopback(host))) {
    throw new HoldfastError(
      'unsafe_bind',
      `${host} is an address that others can reach, and no tokens are configured.`,
    );
  }
  await assertPortFree(host, port);
  // Where none was made yet, one is made when the engine works.
  if (tokens.length === 0) await services.keptToken(dataDir);
}

export async function agentsOf({ configFile }: Settings, services: CliServices): Promise<Agents> {
  const path = needConfig(configFile);
  const { loadConfig } = await import('../../load-config.js');
  return { config: await loadConfig(path, await services.ownModules()), from: path };
}

export const engineSettings = (settings: Settings) => ({
  databaseUrl: settings.databaseUrl,
  dataDir: settings.dataDir,
  workerId: settings.workerId,
  role: settings.role,
  concurrency: settings.concurrency,
  crashLimit: settings.crashLimit,
  startWaitMs: settings.startWaitMs,
  stillAfterMs: settings.stillAfterMs,
  turnsPerSegment: settings.turnsPerSegment,
  approvalTimeoutMs: settings.approvalTimeoutMs,
  ollamaApiKey: settings.ollamaApiKey,
  ollamaHost: settings.ollamaHost,
  ...{
    dockerHost: settings.dockerHost,
    dockerCertPath: settings.dockerCertPath,
    dockerPatienceMs: settings.dockerPatienceMs,
  },
  ...{ workerLabels: settings.workerLabels, workerContainers: settings.workerContainers },
  ...{ workerCpuCores: settings.workerCpuCores, workerMemoryMb: settings.workerMemoryMb },
  cassettesDir: settings.cassettesDir,
  exportDir: settings.exportDir,
  ...{ exportBuckets: settings.exportBuckets, exportHub: settings.exportHub, hub: { endpoint: settings.hubUrl } },
  artifacts: settings.artifacts,
  objectStore: { endpoint: settings.objectStoreUrl, region: settings.objectStoreRegion },
  recordTo: settings.recordTo,
  logSteps: settings.logSteps,
  signingKeyFile: settings.signingKeyFile,
  checkpoints: settings.checkpoints,
});

/** What the engine cannot survive ends the process at once: another one may be doing its work already. */
const die =
  (log: EngineLog) =>
  (error: HoldfastError): void => {
    log.error({ component: 'process', event: 'fatal', code: error.code, hint: error.hint }, error.message);
    process.exit(1);
  };

async function openHttp(
  engine: Engine,
  settings: Settings & Listening,
  log: EngineLog,
  services: CliServices,
): Promise<OpenServer> {
  const { host, port, serves, console, publicUrl, maxBodyBytes, maxTaskBytes } = settings;
  const tokensConfigured = settings.tokens.length > 0;
  try {
    let tokens = settings.tokens;
    const made = async (): Promise<readonly Token[]> => {
      tokens = [await services.madeToken(settings.dataDir)];
      return tokens;
    };
    const given = { tokens: tokensConfigured ? tokens : made, tokensConfigured };
    const http = await services.openHttp(engine, {
      host,
      port,
      serves,
      console,
      publicUrl,
      maxBodyBytes,
      maxTaskBytes,
      ...given,
      log,
    });
    return { http, tokens };
  } catch (error) {
    await engine.stop({ graceMs: 0 });
    throw error;
  }
}

const METRICS_PATH = '/api/v1/metrics';

const ROLES = { api: 'api: executes no runs', worker: 'worker: executes runs, serves no API' } as const;

function announce(
  settings: Settings,
  { items, nextCursor }: Page<AgentView>,
  server: OpenServer | null,
  from: string,
): void {
  print(`Holdfast ${packageVersion()}`);
  if (settings.role !== 'all') print(`role      ${ROLES[settings.role]}`);
  if (server !== null) {
    const { http, tokens } = server;
    print(
      `${settings.role === 'worker' ? 'metrics ' : 'url     '}  ${http.url}${settings.role === 'worker' ? METRICS_PATH : ''}`,
    );
    printAsIs(
      `token     ${settings.tokens.length > 0 ? `${settings.tokens.length} configured` : (tokens[0]?.token ?? '')}`,
    );
  }
  print(`database  ${placeOf(settings)}`);
  if (settings.role !== 'all' && settings.databaseUrl === null)
    print('          which is of this process alone: for several, set DATABASE_URL');
  print(`config    ${from}`);
  print(`agents    ${items.map(({ name }) => name).join(', ')}${nextCursor === null ? '' : ', …'}`);
}

/** Where the database is, without a password. */
function placeOf({ databaseUrl, dataDir }: Settings): string {
  if (databaseUrl === null) return `PGlite in ${dataDir}`;
  const { hostname, port, pathname } = new URL(databaseUrl);
  return `PostgreSQL at ${hostname}${port === '' ? '' : `:${port}`}${pathname}`;
}
