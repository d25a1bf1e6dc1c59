/** `holdfast/client`: the operations of a server over HTTP, for Node, browsers and edge runtimes. */

import type { z } from 'zod';
import type { DecisionRequest, InterruptionView } from '../core/interruptions/interruption.js';
import type { RunDelta } from '../core/log/delta.js';
import type { RunEvent } from '../core/log/event.js';
import type { SystemEvent, SystemEventKind, SystemGap } from '../core/log/system-event.js';
import type { Operations } from '../core/operations/table.js';
import type { BatchAnswer } from '../core/tasks/batch.js';
import type { CallOptions, Calls, KeyedOptions } from './calls.js';
import { errorOfAnswer, misused, notReached } from './failure.js';
import { readLines, readMessages } from './messages.js';
import { reconnecting } from './reconnect.js';
import {
  type Ask,
  assertFollowing,
  assertOptions,
  bodyText,
  keyHeader,
  type Route,
  requestOf,
  sendable,
  signalOf,
  withQuery,
} from './requests.js';
import { ROUTES } from './routes.js';

export type { ErrorCode } from '../core/errors/errors.js';
export type { RunView, StartRun } from '../core/runs/run.js';
export type { TaskView } from '../core/tasks/task.js';
export { HoldfastError } from './failure.js';
export type { BatchAnswer, DecisionRequest, InterruptionView, RunDelta, RunEvent, SystemEvent, SystemGap };

export interface ClientOptions {
  /** Address of the server, or of the place where a router of it is mounted. */
  readonly url: string;
  /** A token of the server, or what gives one before each request. */
  readonly token: string | (() => string | Promise<string>);
  /** Default: the `fetch` of the runtime. */
  readonly fetch?: typeof fetch;
}

interface FollowOptions {
  /** The sequence number of the last event that was read. Default 0: all events. */
  readonly after?: number;
  readonly signal?: AbortSignal;
  /** How long a stream that broke connects again, after its last event. Default 0: the break is thrown. */
  readonly retryForMs?: number;
}

interface FollowSystemOptions {
  /** As of `FollowOptions`; `now`: only what comes. */
  readonly after?: number | 'now';
  readonly kind?: SystemEventKind;
  readonly task?: string;
  readonly run?: string;
  readonly signal?: AbortSignal;
  /** As of `FollowOptions`. */
  readonly retryForMs?: number;
}

/** A method for each operation. All throw `HoldfastError`: with the code of the server's error, or `server_unreachable`. */
export interface Client extends Calls<Partial<KeyedOptions>> {
  /** Approves, rejects or answers. */
  decide(id: string, decision: DecisionRequest, options?: CallOptions): Promise<InterruptionView>;
  /** Submits many tasks, and gives an answer for each in their order, then one with the counts. */
  submitTasks(
    lines: readonly z.input<Operations['submitTasks']['body']>[],
    options: Pick<KeyedOptions, 'key' | 'signal'>,
  ): AsyncGenerator<BatchAnswer, void>;
  /** The bytes of a file of an export, as they come. */
  readExportFile(
    id: string,
    query: { readonly path: string },
    options?: Pick<CallOptions, 'signal'>,
  ): Promise<ReadableStream<Uint8Array>>;
  /** The bytes of an artifact, as they come. */
  readArtifact(id: string, name: string, options?: Pick<CallOptions, 'signal'>): Promise<ReadableStream<Uint8Array>>;
  /** The text that Prometheus reads. */
  getMetrics(options?: CallOptions): Promise<string>;
  /** Events after the given one, live, until the run is over. Throws `server_unreachable` when the connection ends before, and none is made again in time. */
  streamEvents(id: string, options?: FollowOptions): AsyncGenerator<RunEvent, void>;
  /** The same, with what models say while they answer between the events. What has a `seq` is an event. */
  streamRun(id: string, options?: FollowOptions): AsyncGenerator<RunEvent | RunDelta, void>;
  /** What happens in the whole system, until the signal fires. */
  streamSystemEvents(options?: FollowSystemOptions): AsyncGenerator<SystemEvent | SystemGap, void>;
}

const VERDICTS: readonly DecisionRequest['verdict'][] = ['approve', 'reject', 'answer'];

function routeOf(text: string): Route {
  const [method = '', path = '', takes] = text.split(' ');
  return { method, path, takes: takes !== undefined };
}

/** Address of the server, without a slash at its end. Throws `invalid_request`: `fetch` refuses users and passwords, and errors would show them. */
function baseOf(url: string): string {
  if (typeof url !== 'string' || url === '')
    throw misused('The client has no url.', 'Give the address of the server, such as http://127.0.0.1:3000.');
  if (!/\/\/[^/]*@/.test(url)) return url.replace(/\/+$/, '');
  throw misused(
    'The url of the client names a user or a password.',
    'Leave it out of the url; the token says who asks.',
  );
}

/** Throws `invalid_request`. */
function assertClient(options: ClientOptions): void {
  assertOptions(options, ['url', 'token', 'fetch'] satisfies (keyof ClientOptions)[]);
  if (typeof options.token !== 'string' && typeof options.token !== 'function')
    throw misused('The client has no token.', 'Give a text, or a function that returns one.');
}

export function createClient(options: ClientOptions): Client {
  assertClient(options);
  const { url, token, fetch: ask = globalThis.fetch.bind(globalThis) } = options;
  const base = baseOf(url);
  const away = (cause: unknown) => notReached(base, cause);

  /** A connection that broke, unless the caller broke it. */
  const failed = (signal: AbortSignal | undefined) => (cause: unknown) =>
    signal?.aborted === true ? signal.reason : away(cause);

  async function send(method: string, path: string, sent: Ask, signal?: AbortSignal, text?: string): Promise<Response> {
    const Authorization = `Bearer ${typeof token === 'string' ? token : await token()}`;
    const headers = sendable({ Authorization, 'Content-Type': 'application/json', ...sent.headers });
    const body = text ?? (sent.body === undefined ? undefined : bodyText(sent.body));
    const response = await ask(`${base}${withQuery(path, sent.query)}`, {
      method,
      redirect: 'manual',
      headers,
      ...(body === undefined ? {} : { body }),
      ...(signal === undefined ? {} : { signal }),
    }).catch((cause: unknown) => {
      throw failed(signal)(cause);
    });
    if (response.ok) return response;
    throw errorOfAnswer(base, response.status, await response.json().catch(() => null));
  }

  async function call(route: Route, given: readonly unknown[]): Promise<unknown> {
    const { path, ask: sent, options } = requestOf(route, given);
    const signal = signalOf(options);
    // The caller reads its own reason; of the time alone the server is to blame.
    const cut = (cause: unknown) => (options.signal?.aborted === true ? options.signal.reason : away(cause));
    try {
      const response = await send(route.method, path, sent, signal);
      const text = await response.text();
      if (route.path === METRICS.path) return text;
      return JSON.parse(text);
    } catch (cause) {
      if (cause instanceof SyntaxError) throw errorOfAnswer(base, 200, null);
      throw signal.aborted ? cut(cause) : cause instanceof TypeError ? away(cause) : cause;
    }
  }

  async function* follow<T>(route: Route, given: readonly unknown[], after: unknown, signal?: AbortSignal) {
    const { path, ask: sent } = requestOf(route, given);
    const headers = {
      Accept: 'text/event-stream',
      ...(typeof after === 'number' ? { 'Last-Event-ID': String(after) } : {}),
    };
    const { body } = await send(route.method, path, { ...sent, headers }, signal);
    if (body === null) throw errorOfAnswer(base, 200, null);
    for await (const { data } of readMessages(body, failed(signal))) yield JSON.parse(data) as T;
  }

  const METRICS = routeOf(ROUTES.getMetrics);
  const EVENTS = routeOf(ROUTES.listEvents);
  const followRun = <T extends RunEvent | RunDelta>(id: string, options: FollowOptions, deltas: string) => {
    assertFollowing(options);
    const { after = 0, signal, retryForMs = 0 } = options;
    return reconnecting((last) => follow<T>(EVENTS, [id, { deltas }], last, signal), { after, signal, retryForMs });
  };
  const calls = Object.entries(ROUTES).map(([name, text]) => {
    const route = routeOf(text);
    return [name, (...given: readonly unknown[]) => call(route, given)] as const;
  });
  const download = async (
    of: string,
    given: readonly unknown[],
    signal?: AbortSignal,
  ): Promise<ReadableStream<Uint8Array>> => {
    const route = routeOf(of);
    const { path, ask: sent } = requestOf(route, given);
    const { body } = await send(route.method, path, sent, signal);
    if (body === null) throw errorOfAnswer(base, 200, null);
    return body;
  };
  return {
    // Each takes what its operation says, which no type of a list can say of all of them.
    ...(Object.fromEntries(calls) as unknown as Calls<Partial<KeyedOptions>> & Pick<Client, 'getMetrics'>),
    decide: async (id, decision, options) => {
      const { verdict, ...body } = decision ?? {};
      if (!VERDICTS.includes(verdict))
        throw misused(`The verdict is ${JSON.stringify(verdict)}.`, `Give one of ${VERDICTS.join(', ')}.`);
      return call(routeOf(ROUTES[verdict]), [id, body, options]) as Promise<InterruptionView>;
    },
    async *submitTasks(lines, options) {
      assertOptions(options ?? {}, ['key', 'signal']);
      const { key, signal } = options ?? {};
      const { method, path } = routeOf(ROUTES.submitTasks);
      const headers = { ...keyHeader(key), 'Content-Type': 'application/x-ndjson' };
      const text = lines.map((line) => `${JSON.stringify(line)}\n`).join('');
      const { body } = await send(method, path, { headers }, signal, text);
      if (body === null) throw errorOfAnswer(base, 200, null);
      for await (const line of readLines(body, failed(signal))) {
        const answer = JSON.parse(line) as BatchAnswer;
        yield answer;
        if ('end' in answer) return;
      }
      throw away(new Error('the answer ended before the batch did'));
    },
    streamEvents: (id, options = {}) => followRun<RunEvent>(id, options, 'false'),
    streamRun: (id, options = {}) => followRun(id, options, 'true'),
    readExportFile: (id, query, { signal } = {}) => download(ROUTES.readExportFile, [id, query], signal),
    readArtifact: (id, name, { signal } = {}) => download(ROUTES.readArtifact, [id, name], signal),
    streamSystemEvents: (options = {}) => {
      assertFollowing(options, ['kind', 'task', 'run']);
      const { after = 0, signal, retryForMs = 0, ...filter } = options;
      return reconnecting(
        (last) =>
          follow<SystemEvent | SystemGap>(
            routeOf(ROUTES.listSystemEvents),
            [last === 'now' ? { ...filter, cursor: 'now' } : filter],
            last,
            signal,
          ),
        { after, signal, retryForMs },
      );
    },
  };
}
