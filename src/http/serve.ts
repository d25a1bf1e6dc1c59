import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Request, RequestHandler, Response } from 'express';
import { HoldfastError } from '../core/errors/errors.js';
import type { EngineLog } from '../core/ops/log-record.js';
import type { Engine } from '../engine/engine.js';
import { allowanceOfRequest, inOneRequest } from '../engine/engine-context.js';
import { withoutKnownSecrets } from '../models/secrets/known-secrets.js';
import { assertMay, type Callers, identify } from './auth/gate.js';
import type { Identity } from './auth/tokens.js';
import { asHoldfastError } from './problem.js';
import type { GuardedRoute, OpenRoute, Reply } from './route.js';
import { readBody } from './wire/body.js';
import { jsonText } from './wire/json-text.js';
import type { Life } from './wire/life.js';
import { NO_LINES, readLines, sendLines } from './wire/lines.js';
import type { Slots } from './wire/slots.js';
import { sendEvents } from './wire/sse.js';

/** What every handler works with. */
export interface ServerContext {
  readonly engine: Engine;
  readonly callers: Callers;
  readonly streams: Slots;
  readonly life: Life;
  readonly log: EngineLog;
  readonly maxBodyBytes: number;
  readonly maxTaskBytes: number;
  readonly bodyMs: number;
  readonly heartbeatMs: number;
  readonly stallMs: number;
}

const asksForEvents = (request: Request, route: GuardedRoute): boolean =>
  route.streams !== undefined &&
  request.method === 'GET' &&
  request.accepts(['application/json', route.streams]) === route.streams;

/** Leaves a row in the access log, whether the work went well or not. */
async function recorded(
  context: ServerContext,
  route: GuardedRoute,
  request: Request,
  { caller: { tenant, actor, role } }: Identity,
  work: () => Promise<Reply>,
): Promise<Reply> {
  const { id } = request.params;
  const target = typeof id === 'string' ? storable(id) : null;
  let status: number = route.status ?? 200;
  try {
    return await work();
  } catch (error) {
    status = asHoldfastError(error).status;
    throw error;
  } finally {
    const entry = { tenant, actor, role, method: route.method, route: route.path, target, status };
    await context.engine.recordAccess(entry).catch((err: unknown) => {
      context.log.error(
        { component: 'http', event: 'access_not_recorded', err, ...entry },
        'an access could not be recorded',
      );
    });
  }
}

const TARGET_CHARS = 200;

/** Makes a text that the database keeps of any path of a client, so that no path leaves its request out of the access log. */
const storable = (text: string): string => text.slice(0, TARGET_CHARS).toWellFormed().replaceAll('\0', '\ufffd');

async function perform(
  context: ServerContext,
  route: GuardedRoute,
  request: Request,
  response: Response,
  identity: Identity,
  signal: AbortSignal,
): Promise<Reply> {
  assertMay(identity, route);
  const { revoked } = identity;
  const inLines = route.takes === 'lines';
  const maxBytes = route.hasFiles === true ? context.maxTaskBytes : context.maxBodyBytes;
  const body =
    route.method === 'POST' && !inLines ? await readBody(request, response, { maxBytes, signal: revoked }) : {};
  const lines = inLines
    ? readLines(request, { maxLineBytes: maxBytes, lineMs: context.bodyMs, signal: revoked })
    : NO_LINES;
  const raw = { path: request.params, query: request.query, header: request.headers, body };
  try {
    const wantsEvents = asksForEvents(request, route);
    return await route.call(raw, { engine: context.engine, caller: identity.caller, signal, wantsEvents, lines });
  } catch (error) {
    if (!signal.aborted) throw error;
    revoked.throwIfAborted();
    throw new HoldfastError('engine_not_running', 'The server closed while the request waited.', { cause: error });
  }
}

async function answer(
  context: ServerContext,
  reply: Reply,
  response: Response,
  identity: Identity,
  signal: AbortSignal,
): Promise<void> {
  if (reply.type === 'json') {
    if (reply.location !== undefined) response.location(`${response.req.baseUrl}${reply.location}`);
    const text = await jsonText(reply.body, allowanceOfRequest());
    response
      .status(reply.status ?? 200)
      .type('json')
      .send(text);
    return;
  }
  if (reply.type === 'text') {
    response.type(reply.contentType).send(withoutKnownSecrets(reply.text));
    return;
  }
  const free = context.streams.take(identity.tokenId);
  try {
    if (reply.type === 'file') return await sendFile(response, reply, signal);
    if (reply.type === 'lines') return await sendLines(response, reply.lines, signal);
    await sendEvents(response, reply.events, reply.end, {
      heartbeatMs: context.heartbeatMs,
      stallMs: context.stallMs,
      signal,
    });
  } finally {
    free();
  }
}

/** Knows who asks, performs it if they may, leaves a trace where one is due, and answers. */
export const serve =
  (route: GuardedRoute, context: ServerContext): RequestHandler =>
  (request, response) =>
    inOneRequest(async () => {
      const identity = identify(request, context.callers);
      const signal = context.life.signalOf(response, identity.revoked);
      const work = () => perform(context, route, request, response, identity, signal);
      const reply = route.audited === true ? await recorded(context, route, request, identity, work) : await work();
      // What it asked to do has been done; what it asked to read it may not read any more.
      if (route.method === 'GET') identity.revoked.throwIfAborted();
      await answer(context, reply, response, identity, signal);
    });

/** A token fits in it many times. */
const OPEN_BODY_BYTES = 16_384;

export const serveOpen =
  (route: OpenRoute, { engine, life, callers: { signIns } }: ServerContext): RequestHandler =>
  async (request, response) => {
    const body = () => readBody(request, response, { maxBytes: OPEN_BODY_BYTES, signal: new AbortController().signal });
    const reply = await route.call({ engine, draining: life.draining, signIns, request, body });
    if (reply.cookie !== undefined) response.set('Set-Cookie', reply.cookie);
    response.status(reply.status ?? 200).json(reply.body);
  };

interface SentFile {
  readonly name: string;
  readonly sizeBytes: number;
  readonly content: AsyncIterable<Uint8Array>;
}

/** Sends a file as a download, which no browser draws. A client that is gone ends it. */
async function sendFile(
  response: Response,
  { name, sizeBytes, content }: SentFile,
  signal: AbortSignal,
): Promise<void> {
  response
    .status(200)
    .set('Content-Type', 'application/octet-stream')
    .set('Content-Length', String(sizeBytes))
    .set('Content-Disposition', `attachment; filename*=UTF-8''${encodeURIComponent(name)}`);
  // `pipeline` listens to the response more than once, which Node takes for a leak.
  response.setMaxListeners(0);
  try {
    await pipeline(Readable.from(content), response, { signal });
  } catch (error) {
    // The head is sent: what is wrong can only be told by ending the answer before its length.
    if (!signal.aborted && !response.destroyed) throw error;
  }
}
