/** `holdfast/router`: the HTTP API of an engine inside a server of one's own. */

import type { IncomingMessage, ServerResponse } from 'node:http';
import express, { type Express } from 'express';
import { z } from 'zod';
import { readTokens, type Token } from '../core/access-token.js';
import { HoldfastError } from '../core/errors/errors.js';
import { fieldErrorsOf, invalidConfig } from '../core/field-errors.js';
import { isRecord } from '../core/json.js';
import type { EngineLog } from '../core/ops/log-record.js';
import type { Engine } from '../engine/engine.js';
import { createApp } from './app.js';
import { isHostName, isLoopback } from './auth/host.js';
import { SignIns } from './auth/sign-ins.js';
import { TokenList } from './auth/tokens.js';
import { GUARDED_ROUTES } from './routes.js';
import { limitBody } from './wire/body-time.js';
import { createLife } from './wire/life.js';
import { createSlots } from './wire/slots.js';

export interface RouterOptions {
  readonly tokens: readonly Token[];
  /** Path of the operations in a server that leaves the path of a request as it came, as `/agents`. Default: none. */
  readonly path?: string;
  /** Where the server listens. On loopback, foreign names and foreign pages are refused. Default `127.0.0.1`. */
  readonly host?: string;
  /** Default 1,048,576. */
  readonly maxBodyBytes?: number;
  /** Of a body that submits a task, and of a line of a batch. Default 9,437,184. */
  readonly maxTaskBytes?: number;
  /** How long a body may take to come. Default 60,000. */
  readonly bodyMs?: number;
  readonly log?: EngineLog;
}

export interface HttpRouter {
  /** For `app.use('/agents', router.handler)` of Express; with `path`, for every server of `node:http`. */
  readonly handler: (request: IncomingMessage, response: ServerResponse) => void;
  /**
   * From now on these are the tokens: one that is gone is refused, and its streams and waits end. Throws `config_invalid` for tokens that are
   * none, and the ones before stay.
   */
  setTokens(tokens: readonly Token[]): void;
  /** Ends waits and streams, so that the server can close. */
  end(): void;
}

const MAX_BODY_BYTES = 1_048_576;
const MAX_TASK_BYTES = 9_437_184;
const STREAMS_PER_TOKEN = 64;
const SILENT: EngineLog = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

/** Makes a router with the tokens, roles and limits of the server of `holdfast serve`, without its console. Throws `unauthenticated` without tokens, `config_invalid` for tokens, a path or options that are none. */
export function createRouter(engine: Engine, options: RouterOptions): HttpRouter {
  if (Array.isArray(options?.tokens) && options.tokens.length === 0)
    throw new HoldfastError('unauthenticated', 'The router has no tokens, so that no request could be let in.', {
      hint: 'Give createRouter a list of tokens: { token, actor, role, tenant }.',
    });
  assertOptions(options);
  const { host = '127.0.0.1', bodyMs = 60_000, log = SILENT } = options;
  const life = createLife();
  const tokens = new TokenList(readTokens('tokens', options.tokens));
  const context = {
    engine,
    life,
    // No route begins a sign-in: browsers do that at a server with a console.
    callers: {
      tokens,
      signIns: new SignIns({ tokens, publicUrl: null, port: 0, taken: false }),
      onLoopback: isLoopback(host),
    },
    streams: createSlots(STREAMS_PER_TOKEN),
    log,
    maxBodyBytes: options.maxBodyBytes ?? MAX_BODY_BYTES,
    maxTaskBytes: options.maxTaskBytes ?? MAX_TASK_BYTES,
    bodyMs,
    heartbeatMs: 15_000,
    stallMs: 60_000,
  };
  const app = createApp(context, { boundHost: host, publicUrl: null }, { routes: GUARDED_ROUTES, console: null });
  const served = options.path === undefined ? app : below(options.path, app);
  return {
    handler(request, response) {
      assertUnread(request);
      limitBody(request, response, bodyMs);
      served(request, response);
    },
    setTokens(list) {
      const isNone = Array.isArray(list) && list.length === 0;
      const next = isNone ? [] : readTokens('tokens', list);
      tokens.replace(next);
    },
    end: () => life.end(),
  };
}

const sizeBytes = z.int().min(1).optional();
/** The tokens and the path are read where they are used. */
const settings = z.strictObject({
  ...{ tokens: z.unknown(), path: z.string().optional() },
  // An address would be taken for a name that is not of this machine, and no name would be refused.
  host: z.string().refine(isHostName, 'expected a name or an IP address, without scheme and port').optional(),
  ...{ maxBodyBytes: sizeBytes, maxTaskBytes: sizeBytes, bodyMs: z.int().min(1).max(2_147_483_647).optional() },
  log: z.custom(isRecord, 'expected a log').optional(),
});

/** Throws `config_invalid`, which names every option that is wrong. */
function assertOptions(options: unknown): void {
  const { error } = settings.safeParse(options);
  if (error !== undefined) throw invalidConfig('The router', fieldErrorsOf(error));
}

/** Takes a path away before the operations see the rest. */
function below(path: string, app: Express): Express {
  if (!PATH.test(path))
    throw new HoldfastError('config_invalid', `The path of the router is ${JSON.stringify(path)}.`, {
      hint: 'Give a path of letters, digits, dots, hyphens and underscores, with a slash before each part: "/agents".',
    });
  return express().disable('x-powered-by').use(path, app);
}

const PATH = /^(?:\/[\w.-]+)+$/;

/** A body that something has read before never ends for the router. */
function assertUnread(request: IncomingMessage): void {
  if (!('body' in request) || request.body === undefined) return;
  throw new HoldfastError('config_invalid', 'The body of the request was read before the router of Holdfast saw it.', {
    hint: "Mount the router before express.json() and other parsers of bodies: app.use('/agents', router.handler).",
  });
}
