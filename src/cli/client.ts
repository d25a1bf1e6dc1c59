import type { z } from 'zod';
import type { Calls, KeyedOptions } from '../client/calls.js';
import { HoldfastError as ClientError } from '../client/failure.js';
import { readLines } from '../client/messages.js';
import * as requests from '../client/requests.js';
import { ANSWER_TIMEOUT_MS, type Ask, keyHeader, type Route, signalOf, withQuery } from '../client/requests.js';
import { HoldfastError } from '../core/errors/errors.js';
import type { DecisionRequest, InterruptionView } from '../core/interruptions/interruption.js';
import type { RunDelta } from '../core/log/delta.js';
import type { RunEvent } from '../core/log/event.js';
import type { Operation } from '../core/operations/operation.js';
import { SIGN_IN_CODES, type SignInCode, signInCode } from '../core/operations/sign-ins.js';
import { OPERATIONS } from '../core/operations/table.js';
import { type BatchAnswer, batchAnswer } from '../core/tasks/batch.js';
import { errorOfAnswer, notHoldfast, readStream, ServerAway, unlikeOurs } from './event-stream.js';

/** The operations over HTTP. All throw `server_unreachable`, and the errors that the server answers with. */
export interface Client extends Calls<KeyedOptions> {
  readonly url: string;
  /** Sends lines as they are and gives the answers as they come. */
  submitTasks(lines: ReadableStream<Uint8Array>, idempotencyKey: string): AsyncGenerator<BatchAnswer, void>;
  /** Approves, rejects or answers. */
  decide(id: string, decision: DecisionRequest): Promise<InterruptionView>;
  /** The bytes of an artifact. */
  readArtifact(id: string, name: string): Promise<Uint8Array>;
  /** A code that signs one browser in as the token of this client. */
  createSignInCode(): Promise<SignInCode>;
  /** Events after a sequence number, live, until the run is over. Throws when the connection ends before. */
  streamEvents(id: string, after: number, signal: AbortSignal): AsyncGenerator<RunEvent, void>;
  /** The same, with what models say while they answer between the events. */
  streamRun(id: string, after: number, signal: AbortSignal): AsyncGenerator<RunEvent | RunDelta, void>;
}

interface Sent extends Ask {
  /** In place of a body. */
  readonly lines?: ReadableStream<Uint8Array>;
  readonly signal?: AbortSignal | undefined;
}

const routeOf = ({ method, path, query, body }: Operation): Route => ({
  method,
  path,
  takes: Object.keys((method === 'GET' ? query : body).shape).length > 0,
});

/** What the client refuses of a request is an error of this command line. */
function refused<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof ClientError)) throw error;
    throw new HoldfastError(error.code, error.message, { hint: error.hint, cause: error });
  }
}

const requestOf = (route: Route, given: readonly unknown[]) => refused(() => requests.requestOf(route, given));

export function createClient(baseUrl: string, token: string): Client {
  const url = baseUrl.replace(/\/+$/, '');

  async function send(method: string, path: string, { query, body, lines, signal, ...sent }: Sent): Promise<Response> {
    const own = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' };
    const headers = refused(() => requests.sendable({ ...own, ...sent.headers }));
    try {
      return await fetch(`${url}${withQuery(path, query)}`, {
        method,
        headers,
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        ...(lines === undefined ? {} : { body: lines, duplex: 'half' as const }),
        ...(signal === undefined ? {} : { signal }),
      });
    } catch (cause) {
      throw new ServerAway(url, cause);
    }
  }

  async function call<O extends Operation>(
    operation: O,
    ...given: readonly unknown[]
  ): Promise<z.output<O['response']>> {
    const { path, ask, options } = requestOf(routeOf(operation), given);
    const response = await send(operation.method, path, { ...ask, signal: signalOf(options) });
    let body: unknown;
    try {
      body = JSON.parse(await response.text());
    } catch (cause) {
      throw response.ok && !(cause instanceof SyntaxError)
        ? new ServerAway(url, cause)
        : unlikeOurs(url, response.status);
    }
    if (!response.ok) throw errorOfAnswer(url, response.status, body);
    const parsed = operation.response.safeParse(body);
    if (parsed.success) return parsed.data as z.output<O['response']>;
    throw notHoldfast(url, `an answer of another shape at /${parsed.error.issues[0]?.path.join('/') ?? ''}`);
  }

  /** Sends, and gives the body of the answer as it comes. */
  async function open(method: string, path: string, ask: Sent): Promise<ReadableStream<Uint8Array>> {
    const response = await send(method, path, ask);
    if (!response.ok) throw errorOfAnswer(url, response.status, await response.json().catch(() => null));
    if (response.body === null) throw notHoldfast(url, 'an empty answer');
    return response.body;
  }

  async function* stream(id: string, after: number, deltas: boolean, signal: AbortSignal) {
    const { path, ask } = requestOf(routeOf(OPERATIONS.listEvents), [id, { deltas: String(deltas) }]);
    const headers = { Accept: 'text/event-stream', 'Last-Event-ID': String(after) };
    yield* readStream(url, await open(OPERATIONS.listEvents.method, path, { ...ask, headers, signal }));
  }

  const calls = Object.entries<Operation>(OPERATIONS).map(
    ([name, operation]) => [name, (...given: readonly unknown[]) => call(operation, ...given)] as const,
  );
  return {
    // Each takes what its operation says, which no type of a list can say of all of them.
    ...(Object.fromEntries(calls) as unknown as Calls<KeyedOptions>),
    url,
    async *submitTasks(lines, key) {
      const { method, path } = OPERATIONS.submitTasks;
      const headers = { ...keyHeader(key), 'Content-Type': 'application/x-ndjson' };
      yield* readAnswers(url, await open(method, path, { lines, headers }));
    },
    decide: (id, { verdict, ...body }) => call(OPERATIONS[verdict], id, body),
    readArtifact: async (id, name) => {
      const { method } = OPERATIONS.readArtifact;
      const { path } = requestOf(routeOf(OPERATIONS.readArtifact), [id, name]);
      const pieces: Uint8Array[] = [];
      try {
        const body = await open(method, path, { signal: AbortSignal.timeout(ANSWER_TIMEOUT_MS) });
        for await (const piece of body) pieces.push(piece);
      } catch (cause) {
        throw cause instanceof TypeError ? new ServerAway(url, cause) : cause;
      }
      return Buffer.concat(pieces);
    },
    createSignInCode: async () => {
      const response = await send('POST', SIGN_IN_CODES, { body: {}, signal: AbortSignal.timeout(ANSWER_TIMEOUT_MS) });
      const body: unknown = await response.json().catch(() => null);
      if (!response.ok) throw errorOfAnswer(url, response.status, body);
      const parsed = signInCode.safeParse(body);
      if (parsed.success) return parsed.data;
      throw notHoldfast(url, 'an answer of another shape');
    },
    async *streamEvents(id, after, signal) {
      for await (const one of stream(id, after, false, signal)) if ('seq' in one) yield one;
    },
    streamRun: (id, after, signal) => stream(id, after, true, signal),
  };
}

/** Reads the answers to a batch, line by line. Throws `server_unreachable` when the connection ends before the last one. */
async function* readAnswers(url: string, body: ReadableStream<Uint8Array>): AsyncGenerator<BatchAnswer, void> {
  for await (const line of readLines(body, (cause) => new ServerAway(url, cause))) {
    const answer = answerOf(url, line);
    yield answer;
    if ('end' in answer) return;
  }
  throw new ServerAway(url, new Error('the answer ended before the batch did'));
}

function answerOf(url: string, line: string): BatchAnswer {
  try {
    return batchAnswer.parse(JSON.parse(line));
  } catch {
    throw notHoldfast(url, 'an answer of another shape');
  }
}
